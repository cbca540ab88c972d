/* The owner destroys a mutex that its worker may still hold; FIXED: it joins the worker first. */
#include <pthread.h>

static pthread_mutex_t mutex;

static void *worker(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_init(&mutex, NULL);
    pthread_create(&thread, NULL, worker, NULL);
#ifdef FIXED
    pthread_join(thread, NULL);
    pthread_mutex_destroy(&mutex);
#else
    pthread_mutex_destroy(&mutex);
    pthread_join(thread, NULL);
#endif
    return 0;
}
