/* Two threads take turns: a great many times, or with -DFOREVER without an end. */
#include <pthread.h>
#include <stdint.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void take_turn(int own) {
    pthread_mutex_lock(&lock);
    while (turn != own) pthread_cond_wait(&changed, &lock);
    turn = 1 - own;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void *work(void *argument) {
    int own = (int)(intptr_t)argument;
#ifdef FOREVER
    for (;;) take_turn(own);
#else
    for (int i = 0; i < 100000; i++) take_turn(own);
#endif
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
