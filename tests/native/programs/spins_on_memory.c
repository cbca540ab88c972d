/* One waits in a loop for what another stores: atomically, or with PLAIN in the old way. */
#include <pthread.h>
#include <stdatomic.h>

#ifdef PLAIN
static volatile int ready;
#else
static atomic_int ready;
#endif
static int result;

static void *wait_for_it(void *unused) {
    while (!ready) continue;
    return result == 5 ? unused : &result;
}

int main(void) {
    pthread_t waiter;
    pthread_create(&waiter, NULL, wait_for_it, NULL);
    result = 5;
    ready = 1;
    pthread_join(waiter, NULL);
    return 0;
}
