/* The flag says that the answer is there before it is; FIXED: afterwards, and atomically. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static int answer;
#ifdef FIXED
static atomic_int ready;
#else
static volatile int ready;
#endif

static void *compute(void *unused) {
#ifdef FIXED
    answer = 42;
    atomic_store_explicit(&ready, 1, memory_order_release);
#else
    ready = 1;
    answer = 42;
#endif
    return unused;
}

static void *look(void *unused) {
#ifdef FIXED
    if (atomic_load_explicit(&ready, memory_order_acquire)) assert(answer == 42);
#else
    if (ready) assert(answer == 42);
#endif
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, compute, NULL);
    pthread_create(&second, NULL, look, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
