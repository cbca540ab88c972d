/* Fences order what relaxed accesses do not; without FIXED there is none on the side of the reader. */
#include <pthread.h>
#include <stdatomic.h>

static int message;
static atomic_int there;

static void *send(void *unused) {
    message = 7;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&there, 1, memory_order_relaxed);
    return unused;
}

static void *receive(void *unused) {
    if (!atomic_load_explicit(&there, memory_order_relaxed)) return unused;
#ifdef FIXED
    atomic_thread_fence(memory_order_acquire);
#endif
    return message == 7 ? unused : &message;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, send, NULL);
    pthread_create(&second, NULL, receive, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
