/* Two readers want to become writers without letting go; FIXED: they let go. */
#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *worker(void *unused) {
    pthread_rwlock_rdlock(&lock);
#ifdef FIXED
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_wrlock(&lock);
#else
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_wrlock(&lock);
#endif
    pthread_rwlock_unlock(&lock);
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
