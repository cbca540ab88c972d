/* Algorithms that count on the order of plain loads and stores, with the fences that x86 needs (-DFENCED), and without. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(IN_ASSEMBLY)
#define FENCE() __asm__ volatile("mfence" : : : "memory")
#elif defined(FENCED)
#define FENCE() __sync_synchronize()
#else
#define FENCE() ((void)0)
#endif

static volatile int inside;

static void critical_section(void) {
    int before = inside;
    inside = before + 1;
    assert(inside == before + 1);
    inside = before;
}

#if defined(DEKKER)
/* Who finds the other one's flag up leaves. */
static volatile int flag[2];
static void enter(int me) {
    flag[me] = 1;
    FENCE();
    if (!flag[1 - me]) {
        critical_section();
        assert(inside == 0);
    }
    flag[me] = 0;
}
static void *one(void *unused) { return enter(0), unused; }
static void *other(void *unused) { return enter(1), unused; }

#elif defined(PETERSON)
static volatile int flag[2], turn;
static void enter(int me) {
    flag[me] = 1;
    turn = 1 - me;
    FENCE();
    while (flag[1 - me] && turn == 1 - me) continue;
    critical_section();
    flag[me] = 0;
}
static void *one(void *unused) { return enter(0), unused; }
static void *other(void *unused) { return enter(1), unused; }

#elif defined(DEQUE)
/* Chase and Lev (SPAA 2005), with two items: the owner takes one from the bottom, a thief steals
 * from the top. */
static volatile int top, bottom = 2, items[2] = {1, 2}, taken[2];
static void got(int item) { __sync_fetch_and_add(&taken[item - 1], 1); }
static void take(void) {
    int b = bottom - 1;
    bottom = b;
    FENCE();
    int t = top;
    if (t > b) {
        bottom = b + 1;
        return;
    }
    int item = items[b];
    if (t == b) {
        if (__sync_bool_compare_and_swap(&top, t, t + 1)) got(item);
        bottom = b + 1;
        return;
    }
    got(item);
}
static void *one(void *unused) {
    take();
    return unused;
}
static void *other(void *unused) {
    for (int i = 0; i < 2; i++) {
        int t = top;
        FENCE();
        if (t >= bottom) return unused;
        int item = items[t];
        if (__sync_bool_compare_and_swap(&top, t, t + 1)) got(item);
    }
    return unused;
}
#define FINALLY assert(taken[0] <= 1 && taken[1] <= 1)

#elif defined(DOUBLE_CHECKED)
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int value;
static volatile int *volatile instance;
static void *one(void *unused) {
    volatile int *found = instance;
    if (!found) {
        pthread_mutex_lock(&lock);
        if (!instance) {
            value = 1;
            FENCE();
            instance = &value;
        }
        found = instance;
        pthread_mutex_unlock(&lock);
    }
    assert(*found == 1);
    return unused;
}
#define other one

#elif defined(SEQLOCK)
static volatile int sequence, first, second;
static void *one(void *unused) {
    sequence = 1;
    FENCE();
    first = 1;
    second = 1;
    FENCE();
    sequence = 2;
    return unused;
}
static void *other(void *unused) {
    int before = sequence;
    FENCE();
    int a = first, b = second;
    FENCE();
    int after = sequence;
    if (before == after && before % 2 == 0) assert(a == b);
    return unused;
}

#elif defined(MESSAGE)
static volatile int message, is_there;
static void *one(void *unused) {
    message = 1;
    FENCE();
    is_there = 1;
    return unused;
}
static void *other(void *unused) {
    if (is_there) {
        FENCE();
        assert(message == 1);
    }
    return unused;
}

#elif defined(UNSEEN_STORE)
/* That `hidden` races comes out only in an execution in which it is no scheduling point yet: it must not overtake
 * `flag` there. */
static volatile int flag, answer, hidden;
static void *one(void *unused) {
    flag = 1;
    hidden = 1;
    inside = answer;
    return unused;
}
static void *other(void *unused) {
    answer = 1;
    if (!flag && hidden) assert(flag);
    return unused;
}

#elif defined(PROCESSES)
/* A store waits in a buffer when another task becomes two processes. */
static volatile int flag, answer;
static void *one(void *unused) {
    flag = 1;
    inside = answer;
    flag = 2;
    assert(flag == 2);
    return unused;
}
static void *other(void *unused) {
    answer = flag;
    pid_t child = fork();
    if (child == 0) _exit(flag == 3);
    int status;
    waitpid(child, &status, 0);
    assert(status == 0);
    return unused;
}

#elif defined(FREED)
/* A block that is given back, and given out again, while a store to it would wait in a buffer. */
static volatile int *block, flag, answer;
static void *one(void *unused) {
    flag = 1;
    *block = 1;
    free((void *)block);
    inside = answer;
    return unused;
}
static void *other(void *unused) {
    answer = flag;
    return unused;
}
#define FIRST block = malloc(2000)
#define BESIDE \
    volatile int *mine = malloc(2000); \
    *mine = 3; \
    inside = flag; \
    assert(*mine == 3); \
    free((void *)mine)

#elif defined(FRAMES)
/* Variables of frames that are gone: their memory is used again while the stores to them would wait. */
static volatile int x, y, sum;
static volatile size_t size = 64;
static __attribute__((noinline)) int deeper(volatile int *at, int depth) {
    volatile int here[16];
    /* One store each, of as many bytes as may be. */
    memset((void *)here, depth, size);
    return depth ? deeper(&here[depth % 2], depth - 1) + here[1] : *at + here[0];
}
static void *one(void *unused) {
    x = 1;
    sum = deeper(&y, 20) + y;
    pthread_t self = pthread_self();
    assert(pthread_equal(self, pthread_self()));
    return unused;
}
static void *other(void *unused) {
    y = 1;
    assert(deeper(&x, 15) + x >= 0);
    return unused;
}

#elif defined(FULL)
/* More stores than a buffer holds, at scheduling points and at others, and one that is too large for it. */
static volatile int counter, rest[100];
static char from[200], to[200];
static void *one(void *unused) {
    for (int i = 1; i <= 60; i++) counter = i;
    for (int i = 0; i < 100; i++) rest[i] = i;
    memset(from, 7, sizeof from);
    memcpy(to, from, sizeof to);
    counter = 61;
    for (int i = 0; i < 100; i++) assert(rest[i] == i);
    assert(to[0] == 7 && to[199] == 7 && counter == 61);
    return unused;
}
static void *other(void *unused) {
    int last = 0;
    for (int i = 0; i < 20; i++) {
        int now = counter;
        assert(now >= last && now <= 61);
        last = now;
    }
    return unused;
}
#define FINALLY assert(counter == 61 && rest[99] == 99 && to[100] == 7)

#elif defined(STACK)
/* Store buffering with the variables on the stack of the first thread. */
static volatile int *shared[2];
static int seen;
static void *one(void *unused) {
    *shared[1] = 1;
#ifdef THREAD_FENCED
    __sync_synchronize();
#endif
    FENCE();
    seen = *shared[0];
    return unused;
}
static void *other(void *unused) { return unused; }
#define FIRST \
    volatile int both[2] = {0, 0}; \
    shared[0] = &both[0]; \
    shared[1] = &both[1]
#define BESIDE \
    both[0] = 1; \
    FENCE(); \
    int found = both[1]
#define FINALLY assert(found || seen)
#endif

#ifndef FINALLY
#define FINALLY ((void)0)
#endif
#ifndef FIRST
#define FIRST ((void)0)
#endif
#ifndef BESIDE
#define BESIDE ((void)0)
#endif

int main(void) {
    pthread_t first_thread, second_thread;
    FIRST;
    if (pthread_create(&first_thread, NULL, one, NULL) ||
        pthread_create(&second_thread, NULL, other, NULL))
        abort();
    BESIDE;
    pthread_join(first_thread, NULL);
    pthread_join(second_thread, NULL);
    FINALLY;
    return 0;
}
