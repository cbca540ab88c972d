/* What the rules of scheduling are seen by: small programs, one for each macro. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

/* No other thread waits for it. */
static void lock_and_unlock(int times) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

#if defined YIELDS
/* One waits in a loop for the next, and a third does something else. */
static atomic_int done;

static void *first(void *nothing) {
    while (!done) sched_yield();
    return nothing;
}

static void *second(void *nothing) {
    lock_and_unlock(2);
    done = 1;
    return nothing;
}

static void *third(void *nothing) {
    lock_and_unlock(1);
    return nothing;
}

#define THREADS {first, second, third}
#elif defined SLICE
/* One does more than a time slice. */
#ifndef TIMES
#define TIMES 1500
#endif

static void *first(void *nothing) {
    lock_and_unlock(TIMES);
    return nothing;
}

static void *second(void *nothing) { return nothing; }

#define THREADS {first, second}
#elif defined SLEEPS
/* The second sleeps less. */
static void *first(void *nothing) {
    sleep(2);
    return nothing;
}

static void *second(void *nothing) {
    sleep(1);
    return nothing;
}

#define THREADS {first, second}
#else
/* All do the same. */
static void *first(void *nothing) {
    lock_and_unlock(2);
    return nothing;
}

#define THREADS {first, first, first}
#endif

int main(void) {
    void *(*functions[])(void *) = THREADS;
    enum { COUNT = sizeof functions / sizeof *functions };
    pthread_t threads[COUNT];
    for (int i = 0; i < COUNT; i++) pthread_create(&threads[i], NULL, functions[i], NULL);
    for (int i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
    return 0;
}
