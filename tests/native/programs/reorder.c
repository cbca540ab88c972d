/* reorder_N of SCTBench (Thomson, Donaldson and Betts, PPoPP 2014), from its description: all threads but one
 * set two variables one after the other without a lock, the last one looks at both. */
#include <assert.h>
#include <pthread.h>

#ifndef N
#define N 3
#endif

static int a, b;

static void *set(void *nothing) {
    a = 1;
    b = -1;
    return nothing;
}

static void *check(void *nothing) {
    int seen_a = a, seen_b = b;
    assert((seen_a == 0 && seen_b == 0) || (seen_a == 1 && seen_b == -1));
    return nothing;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++) pthread_create(&threads[i], NULL, i < N - 1 ? set : check, NULL);
    for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);
    return 0;
}
