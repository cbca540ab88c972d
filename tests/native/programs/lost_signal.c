/* A signal that is given before anybody waits is lost; FIXED: a flag remembers it. */
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int is_ready;

static void *producer(void *unused) {
    pthread_mutex_lock(&mutex);
    is_ready = 1;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, producer, NULL);
    pthread_mutex_lock(&mutex);
#ifdef FIXED
    while (!is_ready)
#endif
        pthread_cond_wait(&ready, &mutex);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    return 0;
}
