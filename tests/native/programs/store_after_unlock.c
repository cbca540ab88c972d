/* A pipeline's reader says that the input is finished only after it has let go of the mutex, so
 * that the consumer may look in between and wait for ever; FIXED: while it holds it. */
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int items, finished;

static void *reader(void *unused) {
    pthread_mutex_lock(&mutex);
    items = 1;
#ifdef FIXED
    finished = 1;
#endif
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
#ifndef FIXED
    __atomic_store_n(&finished, 1, __ATOMIC_SEQ_CST);
#endif
    return unused;
}

static void *consumer(void *unused) {
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (!items && !__atomic_load_n(&finished, __ATOMIC_SEQ_CST))
            pthread_cond_wait(&changed, &mutex);
        int got = items;
        items = 0;
        pthread_mutex_unlock(&mutex);
        if (!got) return unused;
    }
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, reader, NULL);
    pthread_create(&second, NULL, consumer, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
