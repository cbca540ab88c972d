/* Two flags that share a word are set at once; FIXED: each in a word of its own.
 *
 * One instruction reads, changes and writes the word, so no interleaving of instructions loses a
 * flag, though two processors can. */
#include <assert.h>
#include <pthread.h>

#ifdef FIXED
static struct {
    unsigned opened, closed;
} door;
#else
static struct {
    unsigned opened : 1, closed : 1;
} door;
#endif

static void *open_it(void *unused) {
    door.opened = 1;
    return unused;
}

static void *close_it(void *unused) {
    door.closed = 1;
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, open_it, NULL);
    pthread_create(&second, NULL, close_it, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    assert(door.opened && door.closed);
    return 0;
}
