/* Programs for which it matters, or does not, whether memory is sequentially consistent. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef STORE
#define STORE memory_order_seq_cst
#define LOAD memory_order_seq_cst
#endif

static _Atomic int x, y;
static int seen[2];
/* In one word of eight bytes. */
static struct {
    int one, other;
} word;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *unused) {
#if defined(BUFFERS)
    atomic_store_explicit(&x, 1, STORE);
    seen[0] = atomic_load_explicit(&y, LOAD);
#elif defined(ONE)
    atomic_store_explicit(&x, 1, STORE);
#elif defined(COUNTS)
    atomic_fetch_add_explicit(&x, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&y, 1, memory_order_relaxed);
#elif defined(MESSAGE)
    atomic_store_explicit(&x, 1, STORE);
    atomic_store_explicit(&y, 1, STORE);
#elif defined(PLAIN)
    /* The same load twice, and only the second one comes behind a store. */
    for (int i = 0; i < 2; i++) {
        seen[0] = word.other;
        word.one = 1;
    }
#else
    pthread_mutex_lock(&lock);
    word.one = 1;
    seen[0] = word.other;
    pthread_mutex_unlock(&lock);
#endif
    return unused;
}

static void *second(void *unused) {
#if defined(BUFFERS)
    atomic_store_explicit(&y, 1, STORE);
    seen[1] = atomic_load_explicit(&x, LOAD);
#elif defined(ONE)
    seen[1] = atomic_load_explicit(&x, LOAD);
#elif defined(COUNTS)
    atomic_fetch_add_explicit(&y, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&x, 1, memory_order_relaxed);
#elif defined(MESSAGE)
    seen[1] = atomic_load_explicit(&y, LOAD);
    seen[1] += atomic_load_explicit(&x, LOAD);
#elif defined(PLAIN)
    word.other = 1;
    seen[1] = word.one;
#else
    pthread_mutex_lock(&lock);
    word.other = 1;
    seen[1] = word.one;
    pthread_mutex_unlock(&lock);
#endif
    return unused;
}

int main(void) {
    pthread_t one, other;
    if (pthread_create(&one, NULL, first, NULL) || pthread_create(&other, NULL, second, NULL))
        abort();
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
