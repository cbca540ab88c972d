/* What constructors do to mutexes before main, all of it right. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t *lock, fixed = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int value;

static void make(int type) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    lock = malloc(sizeof *lock);
    if (!lock || pthread_mutex_init(lock, &attributes)) abort();
}

/* The first constructors of a program know its arguments, too. */
__attribute__((constructor)) static void before_main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    make(strcmp(what, "recursive") ? PTHREAD_MUTEX_NORMAL : PTHREAD_MUTEX_RECURSIVE);
    if (strcmp(what, "recursive") == 0) {
        for (int i = 0; i < 3; i++) pthread_mutex_lock(lock);
        for (int i = 0; i < 2; i++) pthread_mutex_unlock(lock);
        /* main does the rest. */
    } else if (strcmp(what, "waits") == 0) {
        struct timespec past = {0, 0};
        pthread_mutex_lock(lock);
        pthread_cond_timedwait(&condition, lock, &past);
        pthread_mutex_unlock(lock);
        pthread_mutex_lock(lock);
        pthread_mutex_unlock(lock);
    } else if (strcmp(what, "held") == 0) {
        pthread_mutex_lock(lock);
        pthread_mutex_lock(&fixed);
    } else if (strcmp(what, "trylock") == 0) {
        if (pthread_mutex_trylock(lock)) abort();
        pthread_mutex_unlock(lock);
    } else if (strcmp(what, "destroyed") == 0) {
        pthread_mutex_lock(lock);
        pthread_mutex_unlock(lock);
        pthread_mutex_destroy(lock);
        make(PTHREAD_MUTEX_NORMAL);
        pthread_mutex_lock(lock);
        pthread_mutex_unlock(lock);
    } else {
        pthread_mutex_lock(lock);
        pthread_mutex_unlock(lock);
    }
    if (strcmp(what, "wrong") == 0) pthread_mutex_unlock(lock);
}

static void *add(void *unused) {
    pthread_mutex_lock(lock);
    value++;
    pthread_mutex_unlock(lock);
    return unused;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    pthread_t other;
    if (pthread_create(&other, NULL, add, NULL)) abort();
    if (strcmp(what, "held") == 0) {
        pthread_mutex_unlock(&fixed);
        value++;
        pthread_mutex_unlock(lock);
    } else if (strcmp(what, "recursive") == 0) {
        value++;
        pthread_mutex_unlock(lock);
    } else {
        add(NULL);
    }
    pthread_join(other, NULL);
    return value == 2 ? 0 : 1;
}
