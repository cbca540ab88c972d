/* Store buffering: can both threads miss what the other one has stored? */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static volatile int x, y, saw_y, saw_x;

static void *left(void *unused) {
    x = 1;
#ifdef FIXED
    __sync_synchronize();
#endif
    saw_y = y;
    return unused;
}

static void *right(void *unused) {
    y = 1;
#ifdef FIXED
    __sync_synchronize();
#endif
    saw_x = x;
    return unused;
}

int main(void) {
    pthread_t one, other;
    if (pthread_create(&one, NULL, left, NULL)) abort();
    if (pthread_create(&other, NULL, right, NULL)) abort();
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    assert(saw_x || saw_y);
    return 0;
}
