/* A table is made on first use, and published before it is filled; FIXED: after. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct table {
    int size;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#ifdef FIXED
static _Atomic(struct table *) shared;
#else
static struct table *shared;
#endif

static struct table *table(void) {
    if (!shared) {
        pthread_mutex_lock(&mutex);
        if (!shared) {
            struct table *made = malloc(sizeof *made);
#ifdef FIXED
            made->size = 16;
            shared = made;
#else
            shared = made;
            made->size = 16;
#endif
        }
        pthread_mutex_unlock(&mutex);
    }
    return shared;
}

static void *use(void *unused) {
    assert(table()->size == 16);
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, use, NULL);
    pthread_create(&second, NULL, use, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    free(shared);
    return 0;
}
