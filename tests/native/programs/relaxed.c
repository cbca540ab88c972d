/* A message behind a flag that orders nothing; FIXED: stored with release, loaded with acquire. */
#include <pthread.h>
#include <stdatomic.h>

static int message;
static atomic_int there;

#ifdef FIXED
#define PUT memory_order_release
#define GET memory_order_acquire
#else
#define PUT memory_order_relaxed
#define GET memory_order_relaxed
#endif

static void *send(void *unused) {
    message = 7;
    atomic_store_explicit(&there, 1, PUT);
    return unused;
}

static void *receive(void *unused) {
    int seen = 7;
    if (atomic_load_explicit(&there, GET)) seen = message;
    return seen == 7 ? unused : &message;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, send, NULL);
    pthread_create(&second, NULL, receive, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
