/* Threads that differ: in the size of their stack, where it lies, who waits for them and how they end. */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#define SMALL ((size_t)256 << 10)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static const unsigned short *letters;
static int finished, destroyed;
static _Thread_local char used[100];

static void destroy(void *value) {
    pthread_mutex_lock(&mutex);
    destroyed += *(int *)value;
    pthread_mutex_unlock(&mutex);
    free(value);
}

static void check_stack(size_t expected, const void *bottom) {
    pthread_attr_t attributes;
    void *address;
    size_t size;
    assert(pthread_getattr_np(pthread_self(), &attributes) == 0);
    assert(pthread_attr_getstack(&attributes, &address, &size) == 0);
    assert(!bottom || address == bottom);
    char *here = (char *)&attributes;
    assert((char *)address < here && here < (char *)address + size);
    assert(expected == 0 || (size > expected / 2 && size <= expected));
    pthread_attr_destroy(&attributes);
}

static void *work(void *argument) {
    for (size_t i = 0; i < sizeof used; i++) assert(used[i] == 0);
    assert(errno == 0 && !pthread_getspecific(key));
    /* Which letters there are is of the locale that main has chosen. */
    assert(*__ctype_b_loc() == letters);
    memset(used, 1, sizeof used);
    errno = EINTR;
    int *value = malloc(sizeof *value);
    *value = 1;
    pthread_setspecific(key, value);
    pthread_mutex_lock(&mutex);
    finished++;
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void *small(void *argument) {
    check_stack(SMALL, NULL);
    return work(argument);
}

static void *exits(void *argument) {
    check_stack(0, NULL);
    work(NULL);
    pthread_exit(argument);
}

static int as_c11(void *argument) {
    work(NULL);
    thrd_exit((int)(intptr_t)argument);
}

static void *on_own_stack(void *stack) {
    check_stack(SMALL, stack);
    return work(stack);
}

int main(void) {
    setlocale(LC_ALL, "C.UTF-8");
    letters = *__ctype_b_loc();
    pthread_key_create(&key, destroy);
    pthread_attr_t attributes;
    pthread_t first, second, third, detached;
    thrd_t fourth;
    void *result = NULL;
    int code;
    void *stack = aligned_alloc(4096, SMALL);

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SMALL);
    assert(pthread_create(&first, &attributes, small, (void *)1) == 0);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    assert(pthread_create(&detached, &attributes, small, NULL) == 0);
    /* It can't end before it has a name. */
    pthread_mutex_lock(&mutex);
    assert(pthread_create(&second, NULL, exits, (void *)2) == 0);
    assert(pthread_kill(second, 0) == 0);
    assert(pthread_setname_np(second, "second") == 0);
    assert(pthread_setname_np(second, "sixteen or more letters") == ERANGE);
    pthread_mutex_unlock(&mutex);
    pthread_attr_destroy(&attributes);

    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, SMALL);
    assert(pthread_create(&third, &attributes, on_own_stack, stack) == 0);
    assert(thrd_create(&fourth, as_c11, (void *)4) == thrd_success);

    assert(pthread_tryjoin_np(first, &result) == EBUSY || result == (void *)1);
    if (result != (void *)1) assert(pthread_join(first, &result) == 0 && result == (void *)1);
    assert(pthread_join(second, &result) == 0 && result == (void *)2);
    assert(pthread_join(third, &result) == 0 && result == stack);
    assert(thrd_join(fourth, &code) == thrd_success && code == 4);
    pthread_mutex_lock(&mutex);
    assert(finished == 4 || finished == 5);
    assert(destroyed == 4 || destroyed == 5);
    pthread_mutex_unlock(&mutex);
    return 0;
}
