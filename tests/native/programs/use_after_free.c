/* main throws away what the worker may still need; FIXED: it joins the worker first. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int *shared;

static void *worker(void *unused) {
    pthread_mutex_lock(&mutex);
    *shared += 1;
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t thread;
    shared = calloc(1, sizeof *shared);
    pthread_create(&thread, NULL, worker, NULL);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    pthread_mutex_lock(&mutex);
    free(shared);
    shared = NULL;
    pthread_mutex_unlock(&mutex);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    return 0;
}
