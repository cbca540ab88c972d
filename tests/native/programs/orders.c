/* Programs of which it is known how many happens-before graphs they have; one for each -D. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void with(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    if (second) {
        pthread_mutex_lock(second);
        pthread_mutex_unlock(second);
    }
    pthread_mutex_unlock(first);
}

#if defined USERS
static void begin(void) {}
static void *one(void *unused) { return with(&a, NULL), unused; }
#define two one
static void between(void) { with(&a, NULL); }

#elif defined PRINTS
static int sum;
static void begin(void) {}
static void *one(void *unused) {
    pthread_mutex_lock(&a);
    printf("%d\n", ++sum);
    pthread_mutex_unlock(&a);
    return unused;
}
#define two one
static void between(void) {}

#elif defined TWO_MUTEXES || defined OPPOSITE
static void begin(void) {}
static void *one(void *unused) { return with(&a, &b), unused; }
#ifdef OPPOSITE
static void *two(void *unused) { return with(&b, &a), unused; }
#else
#define two one
#endif
static void between(void) {}

#elif defined NOT_MADE
static pthread_mutex_t *left, *right;
static void begin(void) {
    left = calloc(1, sizeof *left);
    right = calloc(1, sizeof *right);
}
static void *one(void *unused) { return with(left, NULL), with(right, NULL), unused; }
static void *two(void *unused) { return with(right, NULL), with(left, NULL), unused; }
static void between(void) {}

#elif defined CONDITION
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int full;
static void begin(void) {}
static void *one(void *unused) {
    pthread_mutex_lock(&a);
    while (!full) pthread_cond_wait(&changed, &a);
    pthread_mutex_unlock(&a);
    return unused;
}
static void *two(void *unused) {
    pthread_mutex_lock(&a);
    full = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&a);
    return unused;
}
static void between(void) {}

#elif defined SEMAPHORE
static sem_t room;
static void begin(void) { sem_init(&room, 0, 1); }
static void between(void) {
    sem_wait(&room);
    sem_post(&room);
}
static void *one(void *unused) { return between(), unused; }
#define two one

#elif defined TIMED
static void begin(void) {}
static void *one(void *unused) {
    if (!pthread_mutex_trylock(&a)) pthread_mutex_unlock(&a);
    return unused;
}
static void *two(void *unused) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec++;
    if (!pthread_mutex_timedlock(&a, &time)) pthread_mutex_unlock(&a);
    return unused;
}
static void between(void) { with(&a, NULL); }

#elif defined BARRIER
static pthread_barrier_t both;
static void begin(void) { pthread_barrier_init(&both, NULL, 2); }
static void *one(void *unused) { return pthread_barrier_wait(&both), unused; }
#define two one
static void between(void) {}

#elif defined NOT_JOINED
static int done;
int main(void) {
    pthread_t thread;
    void *one(void *unused);
    pthread_create(&thread, NULL, one, NULL);
    return done ? 0 : 0;
}
void *one(void *unused) {
    pthread_mutex_lock(&a);
    done = 1;
    pthread_mutex_unlock(&a);
    return unused;
}
#define OWN_MAIN

#elif defined CANCELLED
static sem_t empty;
static void *one(void *unused) { return sem_wait(&empty), unused; }
int main(void) {
    pthread_t thread;
    sem_init(&empty, 0, 0);
    pthread_create(&thread, NULL, one, NULL);
    sem_post(&empty);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    return 0;
}
#define OWN_MAIN

#elif defined PROCESSES
int main(void) {
    for (int i = 0; i < 2; i++)
        if (fork() == 0) _exit(i);
    int status;
    wait(&status);
    wait(&status);
    return 0;
}
#define OWN_MAIN

#elif defined POLLED
static int first[2], second[2];
static void use(int *ends) {
    char byte = 0;
    if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1) abort();
}
/* Whoever touches a pipe first gives it its name: here that is always the same. */
static void begin(void) {
    if (pipe(first) || pipe(second)) abort();
    use(first);
    use(second);
    struct pollfd nothing = {first[0], POLLIN, 0};
    poll(&nothing, 1, 0);
}
static void *one(void *unused) { return write(first[1], "a", 1) == 1 ? unused : NULL; }
static void *two(void *unused) { return write(second[1], "b", 1) == 1 ? unused : NULL; }
static void between(void) {
    struct pollfd both[] = {{first[0], POLLIN, 0}, {second[0], POLLIN, 0}};
    char byte;
    if (poll(both, 2, -1) < 1) abort();
    if (read(first[0], &byte, 1) != 1 || read(second[0], &byte, 1) != 1) abort();
}
#endif

#ifndef OWN_MAIN
int main(void) {
    pthread_t threads[2];
    begin();
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, two, NULL);
    between();
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
#endif
