/* A thread spins without a call that anybody could see; NEVER: on a flag that nobody sets. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int flag;

static void *setter(void *unused) {
#ifndef NEVER
    atomic_store(&flag, 1);
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, setter, NULL);
    while (!atomic_load(&flag)) {
    }
    pthread_join(thread, NULL);
    return 0;
}
