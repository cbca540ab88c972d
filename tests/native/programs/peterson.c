/* Peterson's mutual exclusion.  On plain memory it holds in every interleaving, but not on real
 * processors and compilers: its races show that.  FIXED: on atomics. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#ifdef FIXED
static atomic_int wants[2], turn;
#else
static volatile int wants[2], turn;
#endif
static int inside;

static void *enter(void *number) {
    int own = (int)(long)number, other = 1 - own;
    wants[own] = 1;
    turn = other;
    while (wants[other] && turn == other) sched_yield();
    inside++;
    assert(inside == 1);
    inside--;
    wants[own] = 0;
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, enter, (void *)0);
    pthread_create(&second, NULL, enter, (void *)1);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
