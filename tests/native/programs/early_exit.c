/* main does not wait for the worker whose result it returns; FIXED: it does. */
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int done;

static void *worker(void *unused) {
    pthread_mutex_lock(&mutex);
    done = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_detach(thread);
    pthread_mutex_lock(&mutex);
#ifdef FIXED
    while (!done) pthread_cond_wait(&changed, &mutex);
#endif
    int result = done ? 0 : 1;
    pthread_mutex_unlock(&mutex);
    return result;
}
