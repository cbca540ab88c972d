/* Reading, writing and waiting on pipes and sockets.  Files never block, and are left alone. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "clock.h"
#include "descriptors.h"
#include "faults.h"
#include "real.h"
#include "signals.h"

/* As much as a pipe that is ready takes without blocking. */
#define PIECE PIPE_BUF

static bool is_blocking(int fd) { return !(fcntl(fd, F_GETFL) & O_NONBLOCK); }

static bool is_pipe(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

/* -- reading and writing ------------------------------------------------------------ */

EXPORT ssize_t read(int fd, void *buffer, size_t count) {
    CONTROLLED(read, fd, buffer, count);
    if (descriptor_may_block(fd) && !descriptor_operation(GET, fd, POLLIN, SITE)) return -1;
    if (connection_fails(RECV_FAULT, fd, SITE)) return -1;
    return REAL(read)(fd, buffer, count);
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int count) {
    CONTROLLED(readv, fd, parts, count);
    if (descriptor_may_block(fd) && !descriptor_operation(GET, fd, POLLIN, SITE)) return -1;
    if (connection_fails(RECV_FAULT, fd, SITE)) return -1;
    return REAL(readv)(fd, parts, count);
}

EXPORT ssize_t write(int fd, const void *buffer, size_t count) {
    CONTROLLED(write, fd, buffer, count);
    if (!descriptor_may_block(fd)) return REAL(write)(fd, buffer, count);
    size_t written = 0;
    do {
        if (!descriptor_operation(PUT, fd, POLLOUT, SITE)) return written ? (ssize_t)written : -1;
        if (connection_fails(SEND_FAULT, fd, SITE)) return -1;
        size_t piece = count - written;
        if (piece > PIECE && is_pipe(fd) && is_blocking(fd)) piece = PIECE;
        ssize_t result = REAL(write)(fd, (const char *)buffer + written, piece);
        if (result < 0) return written ? (ssize_t)written : result;
        written += (size_t)result;
    } while (written < count && is_pipe(fd) && is_blocking(fd));
    return (ssize_t)written;
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count) {
    CONTROLLED(writev, fd, parts, count);
    if (descriptor_may_block(fd) && !descriptor_operation(PUT, fd, POLLOUT, SITE)) return -1;
    if (connection_fails(SEND_FAULT, fd, SITE)) return -1;
    return REAL(writev)(fd, parts, count);
}

EXPORT int close(int fd) {
    CONTROLLED(close, fd);
    descriptor_change(fd, SITE);
    int result = REAL(close)(fd);
    segment->releases++;
    return result;
}

EXPORT int dup2(int from, int to) {
    CONTROLLED(dup2, from, to);
    if (from != to) descriptor_change(to, SITE);
    return REAL(dup2)(from, to);
}

EXPORT int dup3(int from, int to, int flags) {
    CONTROLLED(dup3, from, to, flags);
    descriptor_change(to, SITE);
    return REAL(dup3)(from, to, flags);
}

/* -- sockets -------------------------------------------------------------------------- */

static bool socket_operation(enum kind kind, int fd, int flags, short events, uint64_t site) {
    return descriptor_operation(kind, fd, flags & MSG_DONTWAIT ? 0 : events, site);
}

EXPORT ssize_t recv(int fd, void *buffer, size_t length, int flags) {
    CONTROLLED(recv, fd, buffer, length, flags);
    if (!socket_operation(GET, fd, flags, POLLIN, SITE)) return -1;
    if (connection_fails(RECV_FAULT, fd, SITE)) return -1;
    return REAL(recv)(fd, buffer, length, flags);
}

EXPORT ssize_t recvfrom(int fd, void *buffer, size_t length, int flags, struct sockaddr *address,
                        socklen_t *size) {
    CONTROLLED(recvfrom, fd, buffer, length, flags, address, size);
    if (!socket_operation(GET, fd, flags, POLLIN, SITE)) return -1;
    if (connection_fails(RECV_FAULT, fd, SITE)) return -1;
    return REAL(recvfrom)(fd, buffer, length, flags, address, size);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    CONTROLLED(recvmsg, fd, message, flags);
    if (!socket_operation(GET, fd, flags, POLLIN, SITE)) return -1;
    if (connection_fails(RECV_FAULT, fd, SITE)) return -1;
    return REAL(recvmsg)(fd, message, flags);
}

EXPORT ssize_t send(int fd, const void *buffer, size_t length, int flags) {
    CONTROLLED(send, fd, buffer, length, flags);
    if (!socket_operation(PUT, fd, flags, POLLOUT, SITE)) return -1;
    if (connection_fails(SEND_FAULT, fd, SITE)) return -1;
    return REAL(send)(fd, buffer, length, flags);
}

EXPORT ssize_t sendto(int fd, const void *buffer, size_t length, int flags,
                      const struct sockaddr *address, socklen_t size) {
    CONTROLLED(sendto, fd, buffer, length, flags, address, size);
    if (!socket_operation(PUT, fd, flags, POLLOUT, SITE)) return -1;
    if (connection_fails(SEND_FAULT, fd, SITE)) return -1;
    return REAL(sendto)(fd, buffer, length, flags, address, size);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    CONTROLLED(sendmsg, fd, message, flags);
    if (!socket_operation(PUT, fd, flags, POLLOUT, SITE)) return -1;
    if (connection_fails(SEND_FAULT, fd, SITE)) return -1;
    return REAL(sendmsg)(fd, message, flags);
}

/* What was written is there at once: else the kernel keeps small writes back until it is sure that those
 * before have arrived, for some milliseconds of real time, in which tasks seem to wait for ever. */
static void deliver_at_once(int fd) {
    int error = errno, yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    errno = error;
}

static int accepted(int fd) {
    if (fd < 0) return fd;
    deliver_at_once(fd);
    port_is_ours(fd);
    return fd;
}

EXPORT int accept(int fd, struct sockaddr *address, socklen_t *size) {
    CONTROLLED(accept, fd, address, size);
    if (!descriptor_operation(GET, fd, POLLIN, SITE)) return -1;
    if (fails(ACCEPT_FAULT, SITE)) return -1;
    return accepted(REAL(accept)(fd, address, size));
}

EXPORT int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags) {
    CONTROLLED(accept4, fd, address, size, flags);
    if (!descriptor_operation(GET, fd, POLLIN, SITE)) return -1;
    if (fails(ACCEPT_FAULT, SITE)) return -1;
    return accepted(REAL(accept4)(fd, address, size, flags));
}

EXPORT int connect(int fd, const struct sockaddr *address, socklen_t size) {
    CONTROLLED(connect, fd, address, size);
    descriptor_change(fd, SITE);
    if (fails(CONNECT_FAULT, SITE)) return -1;
    deliver_at_once(fd);
    int result = REAL(connect)(fd, address, size);
    port_is_ours(fd);
    return result;
}

EXPORT int shutdown(int fd, int how) {
    CONTROLLED(shutdown, fd, how);
    descriptor_change(fd, SITE);
    return REAL(shutdown)(fd, how);
}

/* -- waiting for several ---------------------------------------------------------------- */

/* Waits as long as `time` says (for ever without one), and looks only once if it is zero; -1 if a
 * signal came. */
static int wait_for(struct pollfd *descriptors, nfds_t count, const struct timespec *time,
                     uint64_t site) {
    if (time && time->tv_sec == 0 && time->tv_nsec == 0) {
        descriptors_inspect(site);
        return 0;
    }
    uint64_t deadline = time ? deadline_after(time) : NO_DEADLINE;
    if (descriptors_wait(descriptors, count, deadline, site) != INTERRUPTED) return 0;
    errno = EINTR;
    return -1;
}

static struct timespec milliseconds(int timeout) {
    return (struct timespec){timeout / 1000, timeout % 1000 * 1000000L};
}

/* With another mask while it waits, as ppoll, pselect and epoll_pwait do; what is pending then would be
 * handled before, and is left to the real call, which it interrupts. */
struct masked {
    bool is_set;
    sigset_t before;
};

static struct masked mask_set(const sigset_t *mask) {
    struct masked masked = {mask != NULL, {{0}}};
    if (mask) pthread_sigmask(SIG_SETMASK, mask, &masked.before);
    return masked;
}

static void mask_restore(const struct masked *masked) {
    int error = errno;
    if (masked->is_set) pthread_sigmask(SIG_SETMASK, &masked->before, NULL);
    errno = error;
}

#define WITH_MASK(mask) \
    __attribute__((cleanup(mask_restore), unused)) struct masked masked = mask_set(mask)

static int poll_for(struct pollfd *descriptors, nfds_t count, const struct timespec *time,
                    uint64_t site) {
    if (wait_for(descriptors, count, time, site) < 0) return -1;
    return REAL(poll)(descriptors, count, 0);
}

EXPORT int poll(struct pollfd *descriptors, nfds_t count, int timeout) {
    CONTROLLED(poll, descriptors, count, timeout);
    struct timespec time = milliseconds(timeout);
    return poll_for(descriptors, count, timeout < 0 ? NULL : &time, SITE);
}

EXPORT int __poll_chk(struct pollfd *descriptors, nfds_t count, int timeout, size_t size) {
    CONTROLLED(__poll_chk, descriptors, count, timeout, size);
    struct timespec time = milliseconds(timeout);
    return poll_for(descriptors, count, timeout < 0 ? NULL : &time, SITE);
}

EXPORT int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *time,
                 const sigset_t *mask) {
    CONTROLLED(ppoll, descriptors, count, time, mask);
    if (mask && signals_come_with(mask))
        return REAL(ppoll)(descriptors, count, &(struct timespec){0, 0}, mask);
    WITH_MASK(mask);
    return poll_for(descriptors, count, time, SITE);
}

static int select_for(int count, fd_set *readable, fd_set *writable, fd_set *exceptional,
                      const struct timespec *time, uint64_t site) {
    struct pollfd descriptors[FD_SETSIZE];
    nfds_t used = 0;
    for (int fd = 0; fd < count && fd < FD_SETSIZE; fd++) {
        short events = (short)((readable && FD_ISSET(fd, readable) ? POLLIN : 0) |
                               (writable && FD_ISSET(fd, writable) ? POLLOUT : 0) |
                               (exceptional && FD_ISSET(fd, exceptional) ? POLLPRI : 0));
        if (events) descriptors[used++] = (struct pollfd){fd, events, 0};
    }
    if (wait_for(descriptors, used, time, site) < 0) return -1;
    struct timeval now = {0, 0};
    return REAL(select)(count, readable, writable, exceptional, &now);
}

EXPORT int select(int count, fd_set *restrict readable, fd_set *restrict writable,
                  fd_set *restrict exceptional, struct timeval *restrict timeout) {
    CONTROLLED(select, count, readable, writable, exceptional, timeout);
    struct timespec time = {0, 0};
    if (timeout) time = (struct timespec){timeout->tv_sec, timeout->tv_usec * 1000};
    return select_for(count, readable, writable, exceptional, timeout ? &time : NULL, SITE);
}

EXPORT int pselect(int count, fd_set *restrict readable, fd_set *restrict writable,
                   fd_set *restrict exceptional, const struct timespec *restrict time,
                   const sigset_t *restrict mask) {
    CONTROLLED(pselect, count, readable, writable, exceptional, time, mask);
    if (mask && signals_come_with(mask))
        return REAL(pselect)(count, readable, writable, exceptional, &(struct timespec){0, 0}, mask);
    WITH_MASK(mask);
    return select_for(count, readable, writable, exceptional, time, SITE);
}

static int epoll_for(int fd, struct epoll_event *events, int most, int timeout, uint64_t site) {
    struct pollfd descriptor = {fd, POLLIN, 0};
    struct timespec time = milliseconds(timeout);
    if (wait_for(&descriptor, 1, timeout < 0 ? NULL : &time, site) < 0) return -1;
    return REAL(epoll_wait)(fd, events, most, 0);
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int most, int timeout) {
    CONTROLLED(epoll_wait, fd, events, most, timeout);
    return epoll_for(fd, events, most, timeout, SITE);
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int most, int timeout,
                       const sigset_t *mask) {
    CONTROLLED(epoll_pwait, fd, events, most, timeout, mask);
    if (mask && signals_come_with(mask)) return REAL(epoll_pwait)(fd, events, most, 0, mask);
    WITH_MASK(mask);
    return epoll_for(fd, events, most, timeout, SITE);
}
