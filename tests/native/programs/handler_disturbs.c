/* A handler changes errno, and its thread may be about to look at it: that can't be seen where signals come at
 * scheduling points.  With an argument the signal comes of the thread itself, by raise. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void handle(int number) {
    (void)number;
    close(-1);
}

static void *interrupt(void *thread) {
    pthread_kill(*(pthread_t *)thread, SIGUSR1);
    return NULL;
}

static void *do_nothing(void *nothing) { return nothing; }

int main(int argc, char **argv) {
    (void)argv;
    signal(SIGUSR1, handle);
    int ends[2];
    char byte;
    assert(pipe2(ends, O_NONBLOCK) == 0);
    pthread_t self = pthread_self(), other;
    pthread_create(&other, NULL, argc > 1 ? do_nothing : interrupt, &self);
    if (argc > 1) raise(SIGUSR1);
    assert(read(ends[0], &byte, 1) == -1 && errno == EAGAIN);
    pthread_join(other, NULL);
    return 0;
}
