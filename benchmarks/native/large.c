/* As many synchronisation operations and threads as the largest programs of CHESS's evaluation had (Musuvathi et al.,
 * OSDI 2008, table 2): 24 threads take blocks from a queue, work on them, and count what they have done in one of some
 * tables, each with its mutex; with main they are 25 threads, and there are 167,924 operations.
 *
 * `large WORK` does WORK rounds of arithmetic on each block, which lies in 512 kB of each thread's own;
 * `large WORK memory` prints how much memory the process had at most, in kB. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 24, TABLES = 8, BLOCKS = 41969, ROOM = 512 << 10, BLOCK = 4096 };

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static int next;
static struct {
    pthread_mutex_t mutex;
    uint64_t sum;
} tables[TABLES];
static long work;

static int take(void) {
    pthread_mutex_lock(&queue);
    int block = next < BLOCKS ? next++ : -1;
    pthread_mutex_unlock(&queue);
    return block;
}

static uint64_t hash(uint8_t *room, int block) {
    uint64_t *words = (uint64_t *)(room + block * BLOCK % ROOM), state = (uint64_t)block + 1;
    for (long i = 0; i < work; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        words[i % (BLOCK / 8)] ^= state;
    }
    return state;
}

static void *run(void *unused) {
    uint8_t *room = malloc(ROOM);
    if (!room) abort();
    memset(room, 1, ROOM);
    for (int block; (block = take()) >= 0;) {
        uint64_t found = hash(room, block);
        pthread_mutex_lock(&tables[found % TABLES].mutex);
        tables[found % TABLES].sum += found;
        pthread_mutex_unlock(&tables[found % TABLES].mutex);
    }
    free(room);
    return unused;
}

static void print_memory(void) {
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0) printf("%ld\n", atol(line + 6));
    if (status) fclose(status);
}

int main(int count, char **words) {
    work = count > 1 ? atol(words[1]) : 0;
    for (int i = 0; i < TABLES; i++) pthread_mutex_init(&tables[i].mutex, NULL);
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&threads[i], NULL, run, NULL)) abort();
    for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
    if (count > 2) print_memory();
    return 0;
}
