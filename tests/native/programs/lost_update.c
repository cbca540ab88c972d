/* The balance is read in one critical section and written in another; FIXED: in one. */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int balance;

static void *deposit(void *unused) {
    pthread_mutex_lock(&mutex);
    int seen = balance;
#ifndef FIXED
    pthread_mutex_unlock(&mutex);
    pthread_mutex_lock(&mutex);
#endif
    balance = seen + 1;
    pthread_mutex_unlock(&mutex);
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
