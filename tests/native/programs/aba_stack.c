/* A stack of nodes on atomics: a node that comes back looks as if it had never gone.
 *
 * FIXED: the head carries a number that changes with every push and pop. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define NONE 0u

/* Node 1 lies on top of 2, and 2 on top of 3. */
static _Atomic uint32_t next[4] = {0, 2, 3, NONE};
static _Atomic uint64_t head = 1;
static _Atomic int owners[4];

#ifdef FIXED
#define RENEWED(old, node) ((((old) >> 32) + 1) << 32 | (node))
#else
#define RENEWED(old, node) ((uint64_t)(node))
#endif

static uint32_t pop(void) {
    uint64_t seen = atomic_load(&head);
    for (;;) {
        uint32_t node = (uint32_t)seen;
        if (node == NONE) return NONE;
        uint32_t after = atomic_load(&next[node]);
        if (atomic_compare_exchange_strong(&head, &seen, RENEWED(seen, after))) {
            assert(atomic_fetch_add(&owners[node], 1) == 0);
            return node;
        }
    }
}

static void push(uint32_t node) {
    atomic_fetch_sub(&owners[node], 1);
    uint64_t seen = atomic_load(&head);
    do atomic_store(&next[node], (uint32_t)seen);
    while (!atomic_compare_exchange_strong(&head, &seen, RENEWED(seen, node)));
}

static void *take_one(void *unused) {
    pop();
    pop();
    return unused;
}

static void *take_two_and_return_one(void *unused) {
    uint32_t first = pop();
    uint32_t second = pop();
    (void)second;
    if (first) push(first);
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, take_one, NULL);
    pthread_create(&second, NULL, take_two_and_return_one, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
