/* The ways to wait for descriptors that only some programs call: deadlocks, unless FIXED. */
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

/* As programs have it that are built with -D_FORTIFY_SOURCE=2. */
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);

static int ends[2];

static void *work(void *nothing) {
#ifdef FIXED
    if (write(ends[1], "x", 1) != 1) abort();
#endif
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (pipe(ends)) return 2;
    pthread_create(&thread, NULL, work, NULL);
#ifdef CHECKED
    struct pollfd descriptor = {ends[0], POLLIN, 0};
    int found = __ppoll_chk(&descriptor, 1, NULL, NULL, sizeof descriptor);
#else
    struct epoll_event event = {.events = EPOLLIN};
    int events = epoll_create1(0);
    if (epoll_ctl(events, EPOLL_CTL_ADD, ends[0], &event)) return 3;
    int found = epoll_pwait2(events, &event, 1, NULL, NULL);
#endif
    pthread_join(thread, NULL);
    return found != 1;
}
