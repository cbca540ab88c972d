/* A thread returns early, with the mutex locked; FIXED: it unlocks it;
 * ROBUST: the next one who locks it is told. */
#include <errno.h>
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
#ifdef ROBUST
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
#endif
    pthread_create(&first, NULL, worker, NULL);
    pthread_create(&second, NULL, worker, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
#ifdef ROBUST
    if (pthread_mutex_lock(&mutex) != EOWNERDEAD) return 1;
#endif
    return 0;
}
