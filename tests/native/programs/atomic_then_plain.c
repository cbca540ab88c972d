/* What is plain races, though the same task has accessed the same memory as an atomic just before. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic int looked_at, written;

static void *first(void *unused) {
    int atomic = atomic_load(&looked_at), plain = *(int *)&looked_at;
    atomic_store(&written, atomic);
    *(int *)&written = plain;
    return unused;
}

static void *second(void *unused) {
    atomic_store(&looked_at, 1);
    return atomic_load(&written) == 7 ? unused : NULL;
}

int main(void) {
    pthread_t one, other;
    if (pthread_create(&one, NULL, first, NULL) || pthread_create(&other, NULL, second, NULL))
        abort();
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
