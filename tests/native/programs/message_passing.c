/* A message whose flag is stored and loaded with memory orders that are too weak; with -DFIXED they are not. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef FIXED
#define STORE memory_order_release
#define LOAD memory_order_acquire
#else
#define STORE memory_order_relaxed
#define LOAD memory_order_relaxed
#endif
static atomic_int message, is_ready;

static void *sender(void *unused) {
    atomic_store_explicit(&message, 42, memory_order_relaxed);
    atomic_store_explicit(&is_ready, 1, STORE);
    return unused;
}

static void *receiver(void *unused) {
    while (!atomic_load_explicit(&is_ready, LOAD)) continue;
    assert(atomic_load_explicit(&message, memory_order_relaxed) == 42);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, sender, NULL);
    pthread_create(&threads[1], NULL, receiver, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
