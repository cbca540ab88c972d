/* Work on memory of two threads; prints the processor time it took, in milliseconds, for each of
 * integers in a matrix, a linked list, and bytes.  What others share is taken under a mutex. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define SIZE 128
#define NODES 20000
#define BYTES 200000

struct node {
    struct node *next;
    uint64_t value;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t total;
static int rounds;

static void add(uint64_t value) {
    pthread_mutex_lock(&mutex);
    total += value;
    pthread_mutex_unlock(&mutex);
}

static void *integers(void *unused) {
    int(*a)[SIZE] = calloc(SIZE, sizeof *a), (*b)[SIZE] = calloc(SIZE, sizeof *b);
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) a[i][j] = b[j][i] = i + j;
    for (int round = 0; round < rounds; round++) {
        uint64_t sum = 0;
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++) {
                int product = 0;
                for (int k = 0; k < 16; k++) product += a[i][k] * b[k][j];
                sum += (uint64_t)product;
                a[i][j] = (int)(sum & 1023);
            }
        add(sum);
    }
    free(a);
    free(b);
    return unused;
}

static void *list(void *unused) {
    struct node *nodes = calloc(NODES, sizeof *nodes);
    for (size_t i = 0; i < NODES; i++) nodes[i].next = i + 1 < NODES ? &nodes[i + 1] : NULL;
    for (int round = 0; round < 8 * rounds; round++) {
        uint64_t sum = 0;
        for (struct node *node = nodes; node; node = node->next) sum += ++node->value;
        add(sum);
    }
    free(nodes);
    return unused;
}

static void *bytes(void *unused) {
    unsigned char *text = malloc(BYTES);
    unsigned counts[256] = {0};
    for (size_t i = 0; i < BYTES; i++) text[i] = (unsigned char)(i * 7);
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < BYTES; i++) counts[text[i]]++;
        for (size_t i = 1; i < BYTES; i++) text[i] ^= text[i - 1];
        add(counts[(unsigned)round % 256]);
    }
    free(text);
    return unused;
}

static double processor_time(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

static double twice(void *(*work)(void *)) {
    double before = processor_time();
    pthread_t first, second;
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return processor_time() - before;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atoi(argv[1]) : 10;
    double of_integers = twice(integers), of_list = twice(list), of_bytes = twice(bytes);
    printf("%.1f %.1f %.1f\n", of_integers, of_list, of_bytes);
    return 0;
}
