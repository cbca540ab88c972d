/* Correct: every function of pthreads does what it says; exits with the number of a failed check. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            exit(__LINE__ % 250 + 1); \
        } \
    } while (0)

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static int once_count, destroyed, serial, cleaned, counter;

static struct timespec soon(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += 1;
    return time;
}

static void *nothing(void *value) { return value; }

static void *locks(void *mutex) {
    int result = pthread_mutex_trylock(mutex);
    if (result == 0) pthread_mutex_unlock(mutex);
    return (void *)(long)result;
}

static long in_thread(void *(*function)(void *), void *argument) {
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, NULL, function, argument) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    return (long)result;
}

static void mutexes(void) {
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    struct timespec until;
    CHECK(pthread_mutex_lock(&plain) == 0);
    CHECK(pthread_mutex_trylock(&plain) == EBUSY);
    CHECK(in_thread(locks, &plain) == EBUSY);
    until = soon(CLOCK_REALTIME);
    CHECK(pthread_mutex_timedlock(&plain, &until) == ETIMEDOUT);
    until = soon(CLOCK_MONOTONIC);
    CHECK(pthread_mutex_clocklock(&plain, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
    CHECK(pthread_mutex_unlock(&plain) == 0);
    CHECK(in_thread(locks, &plain) == 0);

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    CHECK(pthread_mutex_init(&mutex, &attributes) == 0);
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_mutex_trylock(&mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(in_thread(locks, &mutex) == EBUSY);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(in_thread(locks, &mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == EPERM);
    CHECK(pthread_mutex_destroy(&mutex) == 0);

    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    CHECK(pthread_mutex_init(&mutex, &attributes) == 0);
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_mutex_lock(&mutex) == EDEADLK);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == EPERM);
    CHECK(pthread_mutex_destroy(&mutex) == 0);
}

static void *dies_with(void *mutex) {
    pthread_mutex_lock(mutex);
    return NULL;
}

static void robust(void) {
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    CHECK(pthread_mutex_init(&mutex, &attributes) == 0);
    in_thread(dies_with, &mutex);
    CHECK(pthread_mutex_lock(&mutex) == EOWNERDEAD);
    CHECK(pthread_mutex_consistent(&mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(in_thread(locks, &mutex) == 0);
}

static void conditions(void) {
    pthread_condattr_t attributes;
    pthread_cond_t other;
    struct timespec until = soon(CLOCK_REALTIME);
    int result;
    CHECK(pthread_mutex_lock(&plain) == 0);
    /* It may wake for nothing. */
    while (!(result = pthread_cond_timedwait(&condition, &plain, &until))) continue;
    CHECK(result == ETIMEDOUT);
    until = soon(CLOCK_MONOTONIC);
    while (!(result = pthread_cond_clockwait(&condition, &plain, CLOCK_MONOTONIC, &until))) continue;
    CHECK(result == ETIMEDOUT);
    until.tv_nsec = -1;
    CHECK(pthread_cond_timedwait(&condition, &plain, &until) == EINVAL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    CHECK(pthread_cond_init(&other, &attributes) == 0);
    until = soon(CLOCK_MONOTONIC);
    while (!(result = pthread_cond_timedwait(&other, &plain, &until))) continue;
    CHECK(result == ETIMEDOUT);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    CHECK(now.tv_sec >= until.tv_sec);
    CHECK(pthread_mutex_unlock(&plain) == 0);
    CHECK(pthread_cond_destroy(&other) == 0);
}

static void count_once(void) { once_count++; }

static void *calls_once(void *unused) {
    pthread_once(&once, count_once);
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
    pthread_spin_lock(&spin);
    counter++;
    pthread_spin_unlock(&spin);
    return unused;
}

static void together(void) {
    pthread_t threads[3];
    CHECK(pthread_barrier_init(&barrier, NULL, 3) == 0);
    CHECK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, calls_once, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    CHECK(once_count == 1);
    CHECK(serial == 1);
    CHECK(counter == 3);
    CHECK(pthread_barrier_destroy(&barrier) == 0);
    CHECK(pthread_spin_destroy(&spin) == 0);
}

static void destructor(void *unused) {
    (void)unused;
    pthread_mutex_lock(&plain);
    destroyed++;
    pthread_mutex_unlock(&plain);
}

static void *with_value(void *value) {
    pthread_setspecific(key, value);
    return NULL;
}

static void keys(void) {
    CHECK(pthread_key_create(&key, destructor) == 0);
    in_thread(with_value, &key);
    CHECK(destroyed == 1);
}

static void unlock(void *mutex) {
    cleaned++;
    pthread_mutex_unlock(mutex);
}

static void *waits_for_ever(void *unused) {
    pthread_mutex_lock(&plain);
    pthread_cleanup_push(unlock, &plain);
    for (;;) pthread_cond_wait(&condition, &plain);
    pthread_cleanup_pop(1);
    return unused;
}

static void *exits(void *value) {
    pthread_exit(value);
}

static void cancellation(void) {
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, NULL, waits_for_ever, NULL) == 0);
    CHECK(pthread_cancel(thread) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
    CHECK(in_thread(locks, &plain) == 0);
    CHECK(in_thread(exits, (void *)5) == 5);
}

static void joining(void) {
    pthread_t thread;
    struct timespec until = soon(CLOCK_REALTIME);
    CHECK(pthread_mutex_lock(&plain) == 0);
    CHECK(pthread_create(&thread, NULL, waits_for_ever, NULL) == 0);
    CHECK(pthread_tryjoin_np(thread, NULL) == EBUSY);
    CHECK(pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT);
    CHECK(pthread_mutex_unlock(&plain) == 0);
    CHECK(pthread_cancel(thread) == 0);
    until = soon(CLOCK_MONOTONIC);
    until.tv_sec += 1000;
    int result = pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until);
    CHECK(result == 0 || result == ETIMEDOUT);
    if (result) CHECK(pthread_join(thread, NULL) == 0);
    CHECK(in_thread(nothing, (void *)7) == 7);
}

int main(void) {
    mutexes();
    robust();
    conditions();
    together();
    keys();
    cancellation();
    joining();
    return 0;
}
