/* Waiting for several descriptors. */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "addresses.h"
#include "clock.h"
#include "descriptors.h"
#include "real.h"
#include "signals.h"

static const struct timespec now = {0, 0};
/* For a real call that a signal ends at once: epoll does not look at signals if it is not to wait. */
static const struct timespec until_signal = {1, 0};

static bool is_zero(const struct timespec *time) {
    return time && time->tv_sec == 0 && time->tv_nsec == 0;
}

/* Waits as long as `time` says (for ever without one), and looks only once if it is zero; -1 if a
 * signal came. */
static int wait_for(struct pollfd *descriptors, nfds_t count, const struct timespec *time,
                    uint64_t site) {
    if (is_zero(time)) {
        descriptors_inspect(site);
        return 0;
    }
    uint64_t deadline = time ? deadline_after(time) : NO_DEADLINE;
    if (descriptors_wait(descriptors, count, deadline, site) != INTERRUPTED) return 0;
    errno = EINTR;
    return -1;
}

/* Waits with another mask, and with signals held; returns how long the real call, which lets them in,
 * is to wait after that. */
static struct timespec wait_with(const struct other_mask *mask, struct pollfd *descriptors,
                                 nfds_t count, const struct timespec *time, uint64_t site) {
    if (signals_come_with(mask)) return is_zero(time) ? now : until_signal;
    signals_wait_with(mask);
    int waited = wait_for(descriptors, count, time, site);
    signals_wait_with(NULL);
    /* Who has sent a signal may be ahead of the kernel. */
    return waited < 0 ? until_signal : now;
}

static struct timespec milliseconds(int timeout) {
    return (struct timespec){timeout / 1000, timeout % 1000 * 1000000L};
}

/* -- poll ------------------------------------------------------------------------------------ */

static int poll_for(struct pollfd *descriptors, nfds_t count, int timeout, uint64_t site) {
    struct timespec time = milliseconds(timeout);
    if (wait_for(descriptors, count, timeout < 0 ? NULL : &time, site) < 0) return -1;
    return REAL(poll)(descriptors, count, 0);
}

EXPORT int poll(struct pollfd *descriptors, nfds_t count, int timeout) {
    CONTROLLED(poll, descriptors, count, timeout);
    return poll_for(descriptors, count, timeout, SITE);
}

EXPORT int __poll_chk(struct pollfd *descriptors, nfds_t count, int timeout, size_t size) {
    CONTROLLED(__poll_chk, descriptors, count, timeout, size);
    return poll_for(descriptors, count, timeout, SITE);
}

EXPORT int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *time,
                 const sigset_t *mask) {
    CONTROLLED(ppoll, descriptors, count, time, mask);
    REFUSED_IF(misleads(time) || misleads(mask), ppoll, descriptors, count, time, mask);
    WITH_MASK(mask);
    struct timespec more = wait_with(&other, descriptors, count, time, SITE);
    return REAL(ppoll)(descriptors, count, &more, other.given);
}

EXPORT int __ppoll_chk(struct pollfd *descriptors, nfds_t count, const struct timespec *time,
                       const sigset_t *mask, size_t size) {
    CONTROLLED(__ppoll_chk, descriptors, count, time, mask, size);
    REFUSED_IF(misleads(time) || misleads(mask), __ppoll_chk, descriptors, count, time, mask, size);
    WITH_MASK(mask);
    struct timespec more = wait_with(&other, descriptors, count, time, SITE);
    return REAL(__ppoll_chk)(descriptors, count, &more, other.given, size);
}

/* -- select ---------------------------------------------------------------------------------- */

/* What select waits for, as poll has it; how many descriptors these are. */
static nfds_t as_poll(struct pollfd descriptors[FD_SETSIZE], int count, const fd_set *readable,
                      const fd_set *writable, const fd_set *exceptional) {
    nfds_t used = 0;
    for (int fd = 0; fd < count && fd < FD_SETSIZE; fd++) {
        short events = (short)((readable && FD_ISSET(fd, readable) ? POLLIN : 0) |
                               (writable && FD_ISSET(fd, writable) ? POLLOUT : 0) |
                               (exceptional && FD_ISSET(fd, exceptional) ? POLLPRI : 0));
        if (events) descriptors[used++] = (struct pollfd){fd, events, 0};
    }
    return used;
}

static bool any_misleads(const fd_set *readable, const fd_set *writable, const fd_set *exceptional,
                         const void *time) {
    return misleads(readable) || misleads(writable) || misleads(exceptional) || misleads(time);
}

EXPORT int select(int count, fd_set *restrict readable, fd_set *restrict writable,
                  fd_set *restrict exceptional, struct timeval *restrict timeout) {
    CONTROLLED(select, count, readable, writable, exceptional, timeout);
    REFUSED_IF(any_misleads(readable, writable, exceptional, timeout), select, count, readable, writable, exceptional,
               timeout);
    struct pollfd descriptors[FD_SETSIZE];
    nfds_t used = as_poll(descriptors, count, readable, writable, exceptional);
    struct timespec time = {0, 0};
    if (timeout) time = (struct timespec){timeout->tv_sec, timeout->tv_usec * 1000};
    if (wait_for(descriptors, used, timeout ? &time : NULL, SITE) < 0) return -1;
    struct timeval at_once = {0, 0};
    return REAL(select)(count, readable, writable, exceptional, &at_once);
}

EXPORT int pselect(int count, fd_set *restrict readable, fd_set *restrict writable,
                   fd_set *restrict exceptional, const struct timespec *restrict time,
                   const sigset_t *restrict mask) {
    CONTROLLED(pselect, count, readable, writable, exceptional, time, mask);
    REFUSED_IF(any_misleads(readable, writable, exceptional, time) || misleads(mask), pselect, count, readable,
               writable, exceptional, time, mask);
    struct pollfd descriptors[FD_SETSIZE];
    nfds_t used = as_poll(descriptors, count, readable, writable, exceptional);
    WITH_MASK(mask);
    struct timespec more = wait_with(&other, descriptors, used, time, SITE);
    return REAL(pselect)(count, readable, writable, exceptional, &more, other.given);
}

/* -- epoll ----------------------------------------------------------------------------------- */

EXPORT int epoll_wait(int fd, struct epoll_event *events, int most, int timeout) {
    CONTROLLED(epoll_wait, fd, events, most, timeout);
    struct pollfd descriptor = {fd, POLLIN, 0};
    struct timespec time = milliseconds(timeout);
    if (wait_for(&descriptor, 1, timeout < 0 ? NULL : &time, SITE) < 0) return -1;
    return REAL(epoll_wait)(fd, events, most, 0);
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int most, int timeout,
                       const sigset_t *mask) {
    CONTROLLED(epoll_pwait, fd, events, most, timeout, mask);
    REFUSED_IF(misleads(mask), epoll_pwait, fd, events, most, timeout, mask);
    struct pollfd descriptor = {fd, POLLIN, 0};
    struct timespec time = milliseconds(timeout);
    WITH_MASK(mask);
    struct timespec more = wait_with(&other, &descriptor, 1, timeout < 0 ? NULL : &time, SITE);
    return REAL(epoll_pwait)(fd, events, most, (int)(more.tv_sec * 1000), other.given);
}

EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int most, const struct timespec *time,
                        const sigset_t *mask) {
    CONTROLLED(epoll_pwait2, fd, events, most, time, mask);
    REFUSED_IF(misleads(time) || misleads(mask), epoll_pwait2, fd, events, most, time, mask);
    struct pollfd descriptor = {fd, POLLIN, 0};
    WITH_MASK(mask);
    struct timespec more = wait_with(&other, &descriptor, 1, time, SITE);
    return REAL(epoll_pwait2)(fd, events, most, &more, other.given);
}
