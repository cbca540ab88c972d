/* twostage_N of SCTBench (Thomson, Donaldson and Betts, PPoPP 2014), from its description: half of the
 * threads change two variables under a lock each, the others read them, and believe that the second goes
 * with the first. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 100
#endif

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int data1, data2;

static void *change(void *nothing) {
    pthread_mutex_lock(&first);
    data1 = 1;
    pthread_mutex_unlock(&first);
    pthread_mutex_lock(&second);
    data2 = data1 + 1;
    pthread_mutex_unlock(&second);
    return nothing;
}

static void *read_both(void *nothing) {
    pthread_mutex_lock(&first);
    int seen1 = data1;
    pthread_mutex_unlock(&first);
    if (seen1 == 0) return nothing;
    pthread_mutex_lock(&second);
    int seen2 = data2;
    pthread_mutex_unlock(&second);
    assert(seen2 == seen1 + 1);
    return nothing;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, i < N / 2 ? change : read_both, NULL);
    for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);
    return 0;
}
