/* Programs whose bug PCT finds with the probability that it promises: the same as tight.py, which says
 * why.
 *
 * tight TASKS DEPTH FILLING exits with 1 if the orderings happen.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define MOST 32

static atomic_int first, second;
static sem_t links[MOST];
static int count, depth, filling;
static bool seen;

static void fill(void) {
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < filling; i++) {
        pthread_mutex_lock(&own);
        pthread_mutex_unlock(&own);
    }
}

static void *link_of(void *argument) {
    int number = (int)(long)argument;
    sem_wait(&links[number]);
    if (number + 1 < count) {
        sem_post(&links[number + 1]);
        return NULL;
    }
    fill();
    atomic_store(&first, 1);
    atomic_store(&second, 1);
    return NULL;
}

static void *reader(void *argument) {
    (void)argument;
    bool found = atomic_load(&first);
    if (found && depth > 1) found = !atomic_load(&second);
    if (found && depth > 2) found = atomic_load(&second);
    seen = found;
    fill();
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    count = atoi(argv[1]) - 2;
    depth = atoi(argv[2]);
    filling = atoi(argv[3]);
    if (count < 1 || count + 1 > MOST) return 2;
    for (int i = 0; i < count; i++) sem_init(&links[i], 0, 0);
    pthread_t threads[MOST];
    pthread_create(&threads[0], NULL, reader, NULL);
    for (int i = 0; i < count; i++) pthread_create(&threads[i + 1], NULL, link_of, (void *)(long)i);
    sem_post(&links[0]);
    for (int i = 0; i <= count; i++) pthread_join(threads[i], NULL);
    return seen;
}
