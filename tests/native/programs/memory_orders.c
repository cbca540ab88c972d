/* A litmus test of C11: each argument is a thread, in words such as "x=1.rel y.acq fence.sc x+1.rlx" for a store, a load,
 * a fence and an addition, each with its memory order.  What each load and addition saw is printed, thread by thread, and
 * then memory. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define MOST_THREADS 4
#define MOST_WORDS 8

typedef _Atomic int place;

static struct {
    _Alignas(64) place value;
} memory[3];
static char *words[MOST_THREADS][MOST_WORDS];
static int seen[MOST_THREADS][MOST_WORDS];

static int is(const char *order, const char *name) { return strcmp(order, name) == 0; }

static void store(place *at, int value, const char *order) {
    if (is(order, "rlx")) atomic_store_explicit(at, value, memory_order_relaxed);
    else if (is(order, "rel")) atomic_store_explicit(at, value, memory_order_release);
    else atomic_store_explicit(at, value, memory_order_seq_cst);
}

static int load(place *at, const char *order) {
    if (is(order, "rlx")) return atomic_load_explicit(at, memory_order_relaxed);
    if (is(order, "acq")) return atomic_load_explicit(at, memory_order_acquire);
    return atomic_load_explicit(at, memory_order_seq_cst);
}

static int add(place *at, int value, const char *order) {
    if (is(order, "rlx")) return atomic_fetch_add_explicit(at, value, memory_order_relaxed);
    if (is(order, "acq")) return atomic_fetch_add_explicit(at, value, memory_order_acquire);
    if (is(order, "rel")) return atomic_fetch_add_explicit(at, value, memory_order_release);
    return atomic_fetch_add_explicit(at, value, memory_order_seq_cst);
}

static void fence(const char *order) {
    if (is(order, "acq")) atomic_thread_fence(memory_order_acquire);
    else if (is(order, "rel")) atomic_thread_fence(memory_order_release);
    else atomic_thread_fence(memory_order_seq_cst);
}

static void *run(void *argument) {
    size_t thread = (size_t)argument;
    int *next = seen[thread];
    for (char **word = words[thread]; *word; word++) {
        const char *order = strchr(*word, '.') + 1;
        place *at = &memory[(*word)[0] == 'f' ? 0 : (*word)[0] - 'x'].value;
        if ((*word)[0] == 'f') fence(order);
        else if ((*word)[1] == '=') store(at, (*word)[2] - '0', order);
        else if ((*word)[1] == '+') *next++ = add(at, (*word)[2] - '0', order);
        else *next++ = load(at, order);
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
            if ((*word)[0] != 'f' && (*word)[1] != '=') printf("%d", seen[i][loads++]);
        printf(" ");
    }
    printf("%d%d%d\n", memory[0].value, memory[1].value, memory[2].value);
    return 0;
}
