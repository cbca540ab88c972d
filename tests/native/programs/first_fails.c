/* The first execution is one that fails, in one way or another. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int order;

static void *note(void *number) {
    pthread_mutex_lock(&lock);
    order = order * 10 + *(int *)number;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv) {
    static int numbers[] = {1, 2};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, note, &numbers[i])) abort();
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    if (argc < 2) return 99;
    if (strcmp(argv[1], "code") == 0) return order == 12 ? 3 : 0;
    if (strcmp(argv[1], "always") == 0) return 3;
    /* What --check looks at. */
    FILE *file = fopen(argv[1], "w");
    if (!file) return 98;
    fprintf(file, "%d", order);
    fclose(file);
    printf("%d\n", order == 12);
    return 0;
}
