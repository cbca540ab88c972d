/* A task changes what another one's memory is mapped to, and back: each mode is broken but with a second argument. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE 4096
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile char *memory;
static const char *mode;
static int guarded;

static int is(const char *name) { return strcmp(mode, name) == 0; }

static char *mapped(void *at, int flags) {
    char *found = mmap(at, SIZE, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
    assert(found != MAP_FAILED);
    return found;
}

static void *use(void *unused) {
    pthread_mutex_lock(&lock);
    if (!guarded) pthread_mutex_unlock(&lock);
    assert(*memory == 'a');
    if (guarded) pthread_mutex_unlock(&lock);
    return unused;
}

static void disturb(char *at) {
    if (is("mprotect")) {
        mprotect(at, SIZE, PROT_NONE);
        mprotect(at, SIZE, PROT_READ | PROT_WRITE);
    } else if (is("madvise") || is("shared")) {
        madvise(at, SIZE, MADV_DONTNEED);
        mprotect(at, SIZE, PROT_READ | PROT_WRITE);
        if (is("madvise")) *at = 'a';
    } else if (is("munmap")) {
        munmap(at, SIZE);
        mapped(at, MAP_PRIVATE | MAP_FIXED);
        *at = 'a';
    } else if (is("mmap")) {
        mapped(at, MAP_PRIVATE | MAP_FIXED);
        mprotect(at, SIZE, PROT_READ | PROT_WRITE);
        *at = 'a';
    } else if (is("mremap")) {
        char *other = mapped(NULL, MAP_PRIVATE);
        mremap(at, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, other);
        mremap(other, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, at);
    }
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    mode = arguments[1];
    guarded = count > 2;
    char *at = mapped(NULL, is("shared") ? MAP_SHARED : MAP_PRIVATE);
    memory = at;
    *memory = 'a';
    pthread_t thread;
    pthread_create(&thread, NULL, use, NULL);
    if (guarded) pthread_mutex_lock(&lock);
    disturb(at);
    if (guarded) pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
