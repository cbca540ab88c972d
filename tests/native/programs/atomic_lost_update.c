/* Each access is atomic, but not the update that they make together; FIXED: one operation. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int tickets;

static void *sell(void *unused) {
#ifdef FIXED
    atomic_fetch_add(&tickets, 1);
#else
    atomic_store(&tickets, atomic_load(&tickets) + 1);
#endif
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, sell, NULL);
    pthread_create(&second, NULL, sell, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    assert(tickets == 2);
    return 0;
}
