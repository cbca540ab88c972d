/* Tasks that wait for each other for ever, while others go on. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
static pthread_t waiting;


static void *first(void *unused) {
    pthread_mutex_lock(&one);
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
    pthread_mutex_unlock(&one);
    return unused;
}

static void *second(void *unused) {
    pthread_mutex_lock(&other);
    pthread_mutex_lock(&one);
    pthread_mutex_unlock(&one);
    pthread_mutex_unlock(&other);
    return unused;
}

static void *needs_one(void *unused) {
    pthread_mutex_lock(&one);
    pthread_mutex_unlock(&one);
    return unused;
}

static void *joins_with_one(void *unused) {
    pthread_mutex_lock(&one);
    pthread_join(waiting, NULL);
    pthread_mutex_unlock(&one);
    return unused;
}

static void *writes_then_one(void *unused) {
    pthread_rwlock_wrlock(&readers);
    needs_one(NULL);
    pthread_rwlock_unlock(&readers);
    return unused;
}

static void *one_then_reads(void *unused) {
    pthread_mutex_lock(&one);
    pthread_rwlock_rdlock(&readers);
    pthread_rwlock_unlock(&readers);
    pthread_mutex_unlock(&one);
    return unused;
}

static void *reads_twice(void *lock) {
    pthread_rwlock_rdlock(lock);
    pthread_rwlock_rdlock(lock);
    pthread_rwlock_unlock(lock);
    pthread_rwlock_unlock(lock);
    return NULL;
}

static void *writes(void *lock) {
    pthread_rwlock_wrlock(lock);
    pthread_rwlock_unlock(lock);
    return NULL;
}

/* A writer that waits keeps readers out, also one that reads already. */
static void *behind_a_writer(void *unused) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_t lock;
    pthread_rwlock_init(&lock, &attributes);
    pthread_t reader, writer;
    if (pthread_create(&reader, NULL, reads_twice, &lock)) abort();
    if (pthread_create(&writer, NULL, writes, &lock)) abort();
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
    return unused;
}

static void start(pthread_t *thread, void *(*function)(void *)) {
    if (pthread_create(thread, NULL, function, NULL)) abort();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "", *meanwhile = argc > 2 ? argv[2] : "";
    pthread_t a, b;
    if (strcmp(what, "locks") == 0) {
        start(&a, first);
        start(&b, second);
    } else if (strcmp(what, "join") == 0) {
        start(&waiting, needs_one);
        start(&b, joins_with_one);
    } else if (strcmp(what, "readers") == 0) {
        start(&a, writes_then_one);
        start(&b, one_then_reads);
    } else if (strcmp(what, "behind") == 0) {
        behind_a_writer(NULL);
    } else if (strcmp(what, "itself") == 0) {
        pthread_mutex_lock(&one);
        start(&b, needs_one);
        pthread_mutex_lock(&one);
    }
    if (strcmp(meanwhile, "ends") == 0) {
        for (int i = 0; i < 4; i++) sched_yield();
        return 0;
    }
    if (strcmp(meanwhile, "polls") == 0)
        for (int i = 0; i < 20; i++) poll(NULL, 0, 100);
    if (strcmp(meanwhile, "spins") == 0)
        for (int i = 0; i < 100; i++) sched_yield();
    return 0;
}
