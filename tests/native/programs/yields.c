/* One looks for what another does, and gives way between its looks: by GIVE_WAY, ROUNDS times. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#ifdef ONLY_LOOKS
static sem_t semaphore;

static int look(void) { return sem_trywait(&semaphore) == 0; }

static void tell(void) { sem_post(&semaphore); }
#else
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int is_done;

static int look(void) {
    pthread_mutex_lock(&mutex);
    int found = is_done;
    pthread_mutex_unlock(&mutex);
    return found;
}

static void tell(void) {
    pthread_mutex_lock(&mutex);
    is_done = 1;
    pthread_mutex_unlock(&mutex);
}
#endif

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
    tell();
    return nothing;
}

int main(void) {
    pthread_t threads[2];
#ifdef ONLY_LOOKS
    sem_init(&semaphore, 0, 0);
#endif
    pthread_create(&threads[1], NULL, do_it, NULL);
    pthread_create(&threads[0], NULL, wait_for_it, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
