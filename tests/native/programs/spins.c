/* A thread polls a flag that nobody sets; FIXED: somebody does. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int flag;

static void *setter(void *unused) {
#ifdef FIXED
    atomic_store(&flag, 1);
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, setter, NULL);
    while (!atomic_load(&flag)) sched_yield();
    pthread_join(thread, NULL);
    return 0;
}
