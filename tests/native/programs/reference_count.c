/* Two owners of a document let go of it, counting without a lock; FIXED: atomically. */
#include <assert.h>
#include <pthread.h>

#ifdef FIXED
static _Atomic int owners = 2;
#else
static int owners = 2;
#endif
static int released;

static void *drop(void *unused) {
#ifdef FIXED
    if (--owners == 0) released = 1;
#else
    owners--;
    if (owners == 0) {
        assert(!released);
        released = 1;
    }
#endif
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, drop, NULL);
    pthread_create(&second, NULL, drop, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    assert(released);
    return 0;
}
