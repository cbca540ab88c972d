/* A thread returns early, with the mutex locked; FIXED: it unlocks it. */
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int turns;

static void *worker(void *unused) {
    pthread_mutex_lock(&mutex);
    if (turns++ == 1) {
#ifdef FIXED
        pthread_mutex_unlock(&mutex);
#endif
        return unused;
    }
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, worker, NULL);
    pthread_create(&second, NULL, worker, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
