/* Threads that count without a lock; the corrected version takes one. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int one, two, three;

static void lock(void) {
#ifdef FIXED
    pthread_mutex_lock(&mutex);
#endif
}

static void unlock(void) {
#ifdef FIXED
    pthread_mutex_unlock(&mutex);
#endif
}

static void *count(void *nothing) {
    lock();
    one++;
    two += one;
    three = two;
    unlock();
    return nothing;
}

int main(void) {
    pthread_t threads[3];
    (void)mutex;
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, count, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 0;
}
