/* A litmus test: each argument is a thread, in words such as "x=1 y mfence xchg:z=1" for a store, a load, a fence and
 * a locked exchange.  What each load and exchange saw is printed, thread by thread, and then memory. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define MOST_THREADS 4
#define MOST_WORDS 8

#if defined(STORE)
typedef _Atomic int place;
static void store(place *at, int value) { atomic_store_explicit(at, value, STORE); }
static int load(place *at) { return atomic_load_explicit(at, LOAD); }
#else
typedef volatile int place;
static void store(place *at, int value) { *at = value; }
static int load(place *at) { return *at; }
#endif

static struct {
    _Alignas(64) place value;
} memory[3];
static char *words[MOST_THREADS][MOST_WORDS];
static int seen[MOST_THREADS][MOST_WORDS];

static place *place_of(const char *name) { return &memory[*name - 'x'].value; }

static void *run(void *argument) {
    size_t thread = (size_t)argument;
    int *next = seen[thread];
    for (char **word = words[thread]; *word; word++) {
        if (strcmp(*word, "mfence") == 0) __sync_synchronize();
        else if (strncmp(*word, "xchg:", 5) == 0)
            *next++ = __atomic_exchange_n((int *)place_of(*word + 5), (*word)[7] - '0',
                                          __ATOMIC_RELAXED);
        else if ((*word)[1] == '=') store(place_of(*word), (*word)[2] - '0');
        else *next++ = load(place_of(*word));
    }
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t threads[MOST_THREADS];
    for (int i = 1; i < count; i++) {
        char **into = words[i - 1], *rest = NULL;
        for (char *word = strtok_r(arguments[i], " ", &rest); word; word = strtok_r(NULL, " ", &rest))
            *into++ = word;
    }
    for (int i = 1; i < count; i++)
        pthread_create(&threads[i - 1], NULL, run, (void *)(size_t)(i - 1));
    for (int i = 1; i < count; i++) pthread_join(threads[i - 1], NULL);
    for (int i = 0; i < count - 1; i++) {
        int loads = 0;
        for (char **word = words[i]; *word; word++)
            if (strcmp(*word, "mfence") != 0 && (*word)[1] != '=') printf("%d", seen[i][loads++]);
        printf(" ");
    }
    printf("%d%d%d\n", memory[0].value, memory[1].value, memory[2].value);
    return 0;
}
