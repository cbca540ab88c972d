/* A reader hands blocks to a worker.  Run by itself it works, a thousand times in a row.
 *
 *     cc -g -pthread -o pipeline pipeline.c
 *     bohrbug run -- ./pipeline
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int blocks;
static atomic_int finished;

static void *read_input(void *unused) {
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        blocks++;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    /* The worker may look at this just before, and then wait for a signal that never comes. */
    finished = 1;
    return unused;
}

static void *work(void *unused) {
    int done = 0;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (blocks == 0 && !finished) pthread_cond_wait(&changed, &lock);
        if (blocks == 0) break;
        blocks--;
        done++;
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_unlock(&lock);
    printf("%d blocks\n", done);
    return unused;
}

int main(void) {
    pthread_t reader, worker;
    pthread_create(&reader, NULL, read_input, NULL);
    pthread_create(&worker, NULL, work, NULL);
    pthread_join(reader, NULL);
    pthread_join(worker, NULL);
    return 0;
}
