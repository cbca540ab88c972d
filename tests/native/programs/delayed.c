/* What programs whose real threads are delayed may do, by the first argument; the second says for how many
 * milliseconds, or how often. */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static long amount;

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double until;

/* The compiler must not move accesses over it. */
#define BARRIER __asm__ volatile("" ::: "memory")

static void doze(unsigned seed) { usleep(500 + seed % 1000); }

static void run(int count, void *(*work)(void *)) {
    pthread_t threads[8];
    for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, work, (void *)(long)i);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

/* -- a check and an act in two critical sections, which rarely meet ------------------------------ */

static int used[3];
static long handed_out;

static int find(void) {
    int found = -1;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 3; i++)
        if (!used[i]) found = i;
    pthread_mutex_unlock(&lock);
    return found;
}

static void take(int which) {
    pthread_mutex_lock(&lock);
    assert(!used[which] && "handed out twice");
    used[which] = 1;
    handed_out++;
    pthread_mutex_unlock(&lock);
}

static void give_back(int which) {
    pthread_mutex_lock(&lock);
    used[which] = 0;
    pthread_mutex_unlock(&lock);
}

static void *use_pool(void *number) {
    unsigned seed = (unsigned)(long)number + 1;
    while (seconds() < until) {
        doze(seed = seed * 1103515245 + 12345);
        int found = find();
        if (found < 0) continue;
        take(found);
        give_back(found);
    }
    return NULL;
}

/* -- deadlocks --------------------------------------------------------------------------------- */

static void *lock_both(void *number) {
    pthread_mutex_t *first = number ? &lock : &other, *second = number ? &other : &lock;
    pthread_mutex_lock(first);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
    return NULL;
}

static void *beat(void *nothing) {
    for (;;) usleep(10000);
    return nothing;
}

static void *lock_table(void *nothing) {
    pthread_rwlock_wrlock(&table);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&lock);
    return nothing;
}

static void *lock_then_table(void *nothing) {
    pthread_mutex_lock(&lock);
    pthread_barrier_wait(&both);
    pthread_rwlock_rdlock(&table);
    return nothing;
}

static void *wait_for_signal(void *nothing) {
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&changed, &lock);
    return nothing;
}

static void *signal_late(void *nothing) {
    usleep(2500000);
    pthread_cond_broadcast(&changed);
    return nothing;
}

/* -- races ------------------------------------------------------------------------------------- */

static long counter;

static void *count(void *nothing) {
    while (seconds() < until)
        for (int i = 0; i < 100; i++) {
            counter++;
            BARRIER;
        }
    return nothing;
}

static int is_ready;

/* Always the same value. */
static void *set_flag(void *nothing) {
    while (seconds() < until)
        for (int i = 0; i < 100; i++) {
            is_ready = 1;
            BARRIER;
        }
    return nothing;
}

static atomic_long precise;
static atomic_int turn;
#ifdef __SANITIZE_THREAD__
/* Without hooks it needs a library that is not everywhere. */
typedef __int128 both_halves;
#else
typedef long both_halves;
#endif
static _Atomic both_halves wide;
#define ONE_EACH (((both_halves)1 << (sizeof(both_halves) * 4)) + 1)

static void *count_atomically(void *nothing) {
    while (seconds() < until)
        for (int i = 0; i < 100; i++) {
            atomic_fetch_add(&precise, 1);
            atomic_fetch_sub_explicit(&precise, 2, memory_order_relaxed);
            atomic_fetch_add(&precise, 2);
            pthread_mutex_lock(&lock);
            amount++;
            pthread_mutex_unlock(&lock);
        }
    return nothing;
}

static void *exchange(void *number) {
    for (int i = 0; i < 1000; i++) {
        while (atomic_load_explicit(&turn, memory_order_acquire) != (int)(long)number) {}
        counter++;
        atomic_store_explicit(&turn, !number, memory_order_release);
        both_halves before = wide;
        while (!atomic_compare_exchange_weak(&wide, &before, before + ONE_EACH)) {}
    }
    return NULL;
}

/* -- children ---------------------------------------------------------------------------------- */

static void *start_children(void *number) {
    if (number) return use_pool(number);
    for (int i = 0; i < 20; i++) {
        int status = -1;
        pid_t child = fork();
        if (!child) {
            run(2, set_flag);
            _exit(i);
        }
        assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == i);
        assert(system("exit 3") == 3 << 8);
    }
    return NULL;
}

static volatile sig_atomic_t stopped;

static void stop(int number) { stopped = number; }

int main(int count_of_words, char **words) {
    const char *what = count_of_words > 1 ? words[1] : "";
    until = seconds() + (count_of_words > 2 ? atoi(words[2]) : 0) / 1e3;
    pthread_barrier_init(&both, NULL, 2);
    if (!strcmp(what, "pool")) {
        run(4, use_pool);
        printf("over\n");
    } else if (!strcmp(what, "deadlock")) {
        run(2, lock_both);
    } else if (!strcmp(what, "deadlock beside another")) {
        pthread_t thread;
        pthread_create(&thread, NULL, beat, NULL);
        run(2, lock_both);
    } else if (!strcmp(what, "deadlock of locks")) {
        pthread_t one, two;
        pthread_create(&one, NULL, lock_table, NULL);
        pthread_create(&two, NULL, lock_then_table, NULL);
        pthread_join(one, NULL);
    } else if (!strcmp(what, "itself")) {
        pthread_mutex_lock(&lock);
        pthread_mutex_lock(&lock);
    } else if (!strcmp(what, "lost signal") || !strcmp(what, "lost signal with a handler")) {
        if (strlen(what) > 11) signal(SIGUSR1, stop);
        if (count_of_words > 2) alarm(3);
        run(2, wait_for_signal);
    } else if (!strcmp(what, "late signal")) {
        pthread_t thread;
        pthread_create(&thread, NULL, signal_late, NULL);
        pthread_mutex_lock(&lock);
        pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        printf("over\n");
    } else if (!strcmp(what, "counter")) {
        run(3, count);
    } else if (!strcmp(what, "flag")) {
        is_ready = 1;
        run(2, set_flag);
        printf("%d\n", is_ready);
    } else if (!strcmp(what, "atomic")) {
        run(3, count_atomically);
        printf("%d\n", atomic_load(&precise) == amount);
        fprintf(stderr, "last\n");
        return 7;
    } else if (!strcmp(what, "exchange")) {
        run(2, exchange);
        both_halves found = wide;
        printf("%ld %d\n", counter, found == 2000 * ONE_EACH);
    } else if (!strcmp(what, "children")) {
        run(2, start_children);
        printf("over\n");
    } else if (!strcmp(what, "many threads")) {
        for (int i = 0; i < 500; i++) run(2, set_flag);
    } else if (!strcmp(what, "wait")) {
        run(1, signal_late);
        printf("ready\n");
        fflush(stdout);
        until = seconds() + 60;
        run(2, use_pool);
    } else if (!strcmp(what, "stop")) {
        signal(SIGINT, stop);
        printf("ready\n");
        fflush(stdout);
        while (!stopped) usleep(1000);
        printf("stopped by %d\n", (int)stopped);
        return 5;
    } else if (!strcmp(what, "crash")) {
        run(2, use_pool);
        *(volatile int *)8 = 1;
    }
    return 0;
}
