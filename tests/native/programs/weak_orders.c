/* Algorithms whose atomics have weaker memory orders than they need; with -DFIXED those that they need. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#define RELAXED memory_order_relaxed
#define ACQUIRE memory_order_acquire
#define RELEASE memory_order_release
#define STRONG memory_order_seq_cst
#ifdef FIXED
#define NEEDS(order) memory_order_##order
#else
#define NEEDS(order) memory_order_relaxed
#endif

#define STORE(object, value, order) atomic_store_explicit(&(object), value, order)
#define LOAD(object, order) atomic_load_explicit(&(object), order)

static atomic_int x;
static atomic_int y __attribute__((unused)), done __attribute__((unused));

#if defined(MESSAGE)
static void *one(void *unused) {
    STORE(x, 42, RELAXED);
    STORE(done, 1, NEEDS(release));
    return unused;
}
static void *two(void *unused) {
    while (!LOAD(done, NEEDS(acquire))) continue;
    assert(LOAD(x, RELAXED) == 42);
    return unused;
}

#elif defined(FENCED_MESSAGE)
static void *one(void *unused) {
    STORE(x, 42, RELAXED);
    atomic_thread_fence(NEEDS(release));
    STORE(done, 1, RELAXED);
    return unused;
}
static void *two(void *unused) {
    while (!LOAD(done, RELAXED)) continue;
    atomic_thread_fence(NEEDS(acquire));
    assert(LOAD(x, RELAXED) == 42);
    return unused;
}

#elif defined(DEKKER)
/* acquire and release are not enough: each must see the other's flag. */
#ifdef FIXED
#define MINE memory_order_seq_cst
#define THEIRS memory_order_seq_cst
#else
#define MINE memory_order_release
#define THEIRS memory_order_acquire
#endif
static atomic_int entered;
static void *enter(atomic_int *mine, atomic_int *theirs) {
    atomic_store_explicit(mine, 1, MINE);
    if (!atomic_load_explicit(theirs, THEIRS)) assert(atomic_fetch_add(&entered, 1) == 0);
    return NULL;
}
static void *one(void *unused) { return enter(&x, &y) ? unused : NULL; }
static void *two(void *unused) { return enter(&y, &x) ? unused : NULL; }

#elif defined(FENCED_DEKKER)
static atomic_int entered;
static void *enter(atomic_int *mine, atomic_int *theirs) {
    atomic_store_explicit(mine, 1, RELAXED);
#ifdef FIXED
    atomic_thread_fence(STRONG);
#else
    atomic_thread_fence(memory_order_acq_rel);
#endif
    if (!atomic_load_explicit(theirs, RELAXED)) assert(atomic_fetch_add(&entered, 1) == 0);
    return NULL;
}
static void *one(void *unused) { return enter(&x, &y) ? unused : NULL; }
static void *two(void *unused) { return enter(&y, &x) ? unused : NULL; }

#elif defined(SEQLOCK)
/* Boehm, Can seqlocks get along with programming language memory models?, MSPC 2012. */
static atomic_int version;
static void *one(void *unused) {
    STORE(version, 1, RELAXED);
    atomic_thread_fence(NEEDS(release));
    STORE(x, 1, RELAXED);
    STORE(y, 1, RELAXED);
    STORE(version, 2, RELEASE);
    return unused;
}
static void *two(void *unused) {
    int before = LOAD(version, ACQUIRE);
    int first = LOAD(x, RELAXED), second = LOAD(y, RELAXED);
    atomic_thread_fence(NEEDS(acquire));
    if (before % 2 == 0 && LOAD(version, RELAXED) == before) assert(first == second);
    return unused;
}

#elif defined(DOUBLE_CHECKED)
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct { atomic_int value; } object;
static _Atomic(void *) instance;
static void *get(void *unused) {
    void *seen = LOAD(instance, NEEDS(acquire));
    if (!seen) {
        pthread_mutex_lock(&mutex);
        seen = LOAD(instance, RELAXED);
        if (!seen) {
            STORE(object.value, 7, RELAXED);
            STORE(instance, &object, NEEDS(release));
        }
        pthread_mutex_unlock(&mutex);
    }
    assert(LOAD(object.value, RELAXED) == 7);
    return unused;
}
static void *one(void *unused) { return get(unused); }
static void *two(void *unused) { return get(unused); }

#elif defined(SPIN_LOCK)
static atomic_flag lock = ATOMIC_FLAG_INIT;
static void *add(void *unused) {
    while (atomic_flag_test_and_set_explicit(&lock, NEEDS(acquire))) continue;
    STORE(x, LOAD(x, RELAXED) + 1, RELAXED);
    atomic_flag_clear_explicit(&lock, NEEDS(release));
    return unused;
}
static void *one(void *unused) { return add(unused); }
static void *two(void *unused) { return add(unused); }
#define AFTER assert(LOAD(x, RELAXED) == 2)

#elif defined(REFERENCES)
/* Whoever drops the last reference has to see what the other one has done. */
static atomic_int references = 2;
static void *drop(atomic_int *used) {
    atomic_store_explicit(used, 1, RELAXED);
    if (atomic_fetch_sub_explicit(&references, 1, NEEDS(acq_rel)) == 1)
        assert(LOAD(x, RELAXED) && LOAD(y, RELAXED));
    return NULL;
}
static void *one(void *unused) { return drop(&x) ? unused : NULL; }
static void *two(void *unused) { return drop(&y) ? unused : NULL; }

#elif defined(SHARED_BY_MUTEX)
/* A mutex orders what is done beside it, whatever the memory order. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *add(void *unused) {
    pthread_mutex_lock(&mutex);
    STORE(x, LOAD(x, RELAXED) + 1, RELAXED);
    pthread_mutex_unlock(&mutex);
    return unused;
}
static void *one(void *unused) { return add(unused); }
static void *two(void *unused) { return add(unused); }
#define AFTER assert(LOAD(x, RELAXED) == 2)
#endif

#ifndef AFTER
#define AFTER (void)0
#endif

int main(void) {
    pthread_t threads[2];
#ifdef PROCESSES
    if (fork() == 0) _exit(0);
    wait(NULL);
#endif
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, two, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    AFTER;
    return 0;
}
