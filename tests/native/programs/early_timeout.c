/* The timeout of a wait may come before the signal; FIXED: the result is looked at. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int value;

static void *producer(void *unused) {
    pthread_mutex_lock(&mutex);
    value = 1;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t thread;
    struct timespec until;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, producer, NULL);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    int result = 0;
    while (!value && result != ETIMEDOUT) result = pthread_cond_timedwait(&ready, &mutex, &until);
#ifndef FIXED
    assert(value == 1);
#endif
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    return 0;
}
