/* A thread unlocks the mutex that another one has locked, if it comes in between; FIXED: its own. */
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *unused) {
#ifdef FIXED
    pthread_mutex_lock(&mutex);
#endif
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, worker, NULL);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    return 0;
}
