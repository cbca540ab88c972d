/* An allocator of its own, as jemalloc's, that uses what the shim stands before. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void *__libc_malloc(size_t size);

static pthread_mutex_t arena = PTHREAD_MUTEX_INITIALIZER;
static long allocated;

void *malloc(size_t size) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    pthread_mutex_lock(&arena);
    allocated++;
    pthread_mutex_unlock(&arena);
    return __libc_malloc(size);
}

static void *work(void *unused) {
    free(malloc(100));
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    free(strdup("text"));
    pthread_join(thread, NULL);
    return allocated < 2;
}
