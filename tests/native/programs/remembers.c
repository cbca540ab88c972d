/* Leaves traces in all memory that there is; whoever begins anew finds none of them. */
#include <assert.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int counter = 1;
static int zero[3000];
static __thread int own;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static char *leak;
static int made;

static void make(void) {
    made++;
    pthread_key_create(&key, free);
}

static void at_end(void) { printf("%d at the end\n", counter); }

static void *work(void *unused) {
    (void)unused;
    pthread_once(&once, make);
    assert(made == 1 && own == 0 && !pthread_getspecific(key));
    own = 1;
    pthread_setspecific(key, malloc(100));
    pthread_mutex_lock(&lock);
    counter++;
    zero[1500 + counter]++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    assert(counter == 1 && !leak && own == 0 && made == 0);
    for (int i = 0; i < 3000; i++) assert(zero[i] == 0);
    assert(strcmp(setlocale(LC_ALL, NULL), "C") == 0 && !getenv("REMEMBERED"));
    char *heap = malloc(20), *big = malloc(1 << 20);
    printf("%p %p %p %d\n", (void *)heap, (void *)big, sbrk(0), rand());
    setlocale(LC_ALL, "C.UTF-8");
    setenv("REMEMBERED", "1", 1);
    signal(SIGPIPE, SIG_IGN);
    atexit(at_end);
    own = 7;
    leak = memset(malloc(200000), 1, 200000);
    char *mapped = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(mapped != MAP_FAILED && mapped[100] == 0);
    mapped[100] = 1;
    FILE *file = fopen("/proc/self/status", "r");
    char line[200];
    assert(file && fileno(file) < 100 && fgets(line, sizeof line, file));
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
#ifdef STAYS
    /* One of them may still be about to begin. */
    pthread_join(threads[0], NULL);
    pthread_detach(threads[1]);
#else
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
#endif
    return 0;
}
