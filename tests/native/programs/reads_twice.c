/* Between two looks at one variable another task changes it. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int number = 1, *pointer = &number, seen;
static struct {
    char one, other;
} bytes;

#ifdef FIXED
#define BEGIN pthread_mutex_lock(&lock)
#define END pthread_mutex_unlock(&lock)
#else
#define BEGIN
#define END
#endif

#if WHICH == 1
/* Only the first look can come after the change. */
static void look(void) {
    if (pointer) seen = *pointer;
}
static void change(void) { pointer = NULL; }
#elif WHICH == 2
/* Of three looks the last two differ. */
static void look(void) {
    int first = bytes.one, second = bytes.one, third = bytes.one;
    assert(first != second || second == third || first != 0);
}
static void change(void) { bytes.one = 1; }
#elif WHICH == 3
/* The second look comes after a look at something else, and a write of its own. */
static void look(void) {
    int first = number;
    seen = first;
    bytes.other = 1;
    assert(number == first);
}
static void change(void) { number = 2; }
#elif WHICH == 4
/* Two writes, which nobody is to come between. */
static void look(void) {
    number = 5;
    number = 1;
}
static void change(void) { assert(number == 1); }
#else
static void look(void) {
    int first = number, second = number;
    assert(first == second);
}
static void change(void) { number = 2; }
#endif

static void *looks(void *unused) {
    BEGIN;
    look();
    END;
    return unused;
}

static void *changes(void *unused) {
    BEGIN;
    change();
    END;
    return unused;
}

int main(void) {
    pthread_t one, other;
    if (pthread_create(&one, NULL, looks, NULL) || pthread_create(&other, NULL, changes, NULL))
        abort();
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
