/* One looks for what another does, and gives way between its looks: by GIVE_WAY, ROUNDS times. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int is_done;

static int look(void) {
    pthread_mutex_lock(&mutex);
    int found = is_done;
    pthread_mutex_unlock(&mutex);
    return found;
}

static void *wait_for_it(void *nothing) {
#ifdef ROUNDS
    for (int i = 0; i < ROUNDS; i++) {
        if (look()) return nothing;
        GIVE_WAY;
    }
    /* It gives up. */
    abort();
#else
    while (!look()) GIVE_WAY;
    return nothing;
#endif
}

static void *do_it(void *nothing) {
    pthread_mutex_lock(&mutex);
    is_done = 1;
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[1], NULL, do_it, NULL);
    pthread_create(&threads[0], NULL, wait_for_it, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
