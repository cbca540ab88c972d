/* Three philosophers take the left fork first; FIXED: the last one takes the right one first. */
#include <pthread.h>
#include <stdint.h>

enum { COUNT = 3 };
static pthread_mutex_t forks[COUNT] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                       PTHREAD_MUTEX_INITIALIZER};

static void *dine(void *argument) {
    intptr_t first = (intptr_t)argument, second = (first + 1) % COUNT;
#ifdef FIXED
    if (second < first) {
        intptr_t other = first;
        first = second;
        second = other;
    }
#endif
    pthread_mutex_lock(&forks[first]);
    pthread_mutex_lock(&forks[second]);
    pthread_mutex_unlock(&forks[second]);
    pthread_mutex_unlock(&forks[first]);
    return NULL;
}

int main(void) {
    pthread_t threads[COUNT];
    for (intptr_t i = 0; i < COUNT; i++) pthread_create(&threads[i], NULL, dine, (void *)i);
    for (int i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
    return 0;
}
