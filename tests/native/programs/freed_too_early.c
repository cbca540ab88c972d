/* The buffer is freed while a reader may still use it; FIXED: after the reader has ended. */
#include <pthread.h>
#include <stdlib.h>

static int *buffer;

static void *read_it(void *unused) {
    return buffer[1] ? &buffer[1] : unused;
}

int main(void) {
    pthread_t reader;
    buffer = calloc(2, sizeof *buffer);
    pthread_create(&reader, NULL, read_it, NULL);
#ifdef FIXED
    pthread_join(reader, NULL);
    free(buffer);
#else
    free(buffer);
    pthread_join(reader, NULL);
#endif
    return 0;
}
