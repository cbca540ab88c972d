/* A worker aborts where it finds the queue closed before its turn; FIXED: it gives up quietly. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int closed;

static void *worker(void *unused) {
    pthread_mutex_lock(&mutex);
#ifndef FIXED
    if (closed) abort();
#endif
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_mutex_lock(&mutex);
    closed = 1;
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    return 0;
}
