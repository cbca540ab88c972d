/* Harmless as far as it goes: a counter of hits, and one bit that is read while others change. */
#include <pthread.h>

static unsigned hits, flags = 1;

static void *serve(void *unused) {
    hits++;
    if (flags & 1) return unused;
    return NULL;
}

static void *mark(void *unused) {
    hits++;
    flags |= 4;
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, serve, NULL);
    pthread_create(&second, NULL, mark, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
