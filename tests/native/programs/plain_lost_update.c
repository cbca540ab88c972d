/* Both tasks add to the balance with plain accesses; FIXED: under a mutex. */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int balance;

static void *deposit(void *unused) {
#ifdef FIXED
    pthread_mutex_lock(&mutex);
#endif
    balance = balance + 1;
#ifdef FIXED
    pthread_mutex_unlock(&mutex);
#endif
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, deposit, NULL);
    pthread_create(&second, NULL, deposit, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    assert(balance == 2);
    return 0;
}
