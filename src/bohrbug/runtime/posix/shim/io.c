/* Reading and writing of pipes, sockets and files. */
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

#include "accesses.h"
#include "addresses.h"
#include "clock.h"
#include "descriptor_numbers.h"
#include "descriptors.h"
#include "faults.h"
#include "files.h"
#include "io.h"
#include "real.h"
#include "signals.h"
#include "socket_names.h"
#include "timers.h"
#include "trying.h"

/* As much as a pipe that is ready takes without blocking. */
#define PIECE PIPE_BUF

static bool is_blocking(int fd) { return !(REAL(fcntl)(fd, F_GETFL) & O_NONBLOCK); }

static bool is_pipe(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

/* What a call gave that puts something into a pipe or a socket. */
static ssize_t was_sent(ssize_t size, uint64_t site) {
    if (size < 0 && errno == EAGAIN) descriptor_lacks_room();
    return descriptor_gave(size, site);
}

/* -- reading and writing ------------------------------------------------------------ */

/* Whatever there is, nothing is read and the call does not wait: those of events refuse to tell less than a number. */
static bool too_little(int fd, size_t count) {
    struct stat status;
    return count < sizeof(uint64_t) && (count == 0 || (fstat(fd, &status) == 0 && !(status.st_mode & S_IFMT)));
}

ssize_t read_from(int fd, void *buffer, size_t count, uint64_t site) {
    number_operation(INSPECT, site);
    file_operation(SET, fd, site);
    short events = too_little(fd, count) ? 0 : POLLIN;
    bool waits = descriptor_may_block(fd);
    if (waits && !descriptor_operation(GET, &fd, events, site)) return -1;
    if (connection_fails(RECV_FAULT, fd, site)) return number_used(fd, -1);
    ssize_t size = number_used(fd, REAL(read)(fd, buffer, count));
    touched(buffer, size, WRITE, site);
    return waits ? descriptor_took(size, site) : size;
}

EXPORT ssize_t read(int fd, void *buffer, size_t count) {
    CONTROLLED(read, fd, buffer, count);
    return read_from(fd, buffer, count, SITE);
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int count) {
    CONTROLLED(readv, fd, parts, count);
    number_operation(INSPECT, SITE);
    file_operation(SET, fd, SITE);
    bool waits = descriptor_may_block(fd);
    if (waits && !descriptor_operation(GET, &fd, POLLIN, SITE)) return -1;
    if (connection_fails(RECV_FAULT, fd, SITE)) return number_used(fd, -1);
    ssize_t size = number_used(fd, REAL(readv)(fd, parts, count));
    return waits ? descriptor_took(size, SITE) : size;
}

ssize_t write_to(int fd, const void *buffer, size_t count, uint64_t site) {
    number_operation(INSPECT, site);
    file_operation(SET, fd, site);
    touched(buffer, (ssize_t)count, READ, site);
    if (!descriptor_may_block(fd)) return number_used(fd, REAL(write)(fd, buffer, count));
    size_t written = 0;
    do {
        int to = fd;
        if (!descriptor_operation(PUT, &to, POLLOUT, site)) return written ? (ssize_t)written : -1;
        if (connection_fails(SEND_FAULT, to, site)) return number_used(to, -1);
        size_t piece = count - written;
        if (piece > PIECE && is_pipe(to) && is_blocking(to)) piece = PIECE;
        ssize_t result = number_used(to, REAL(write)(to, (const char *)buffer + written, piece));
        if (result < 0 && errno == EAGAIN) descriptor_lacks_room();
        if (result < 0) return written ? descriptor_gave((ssize_t)written, site) : result;
        written += (size_t)result;
    } while (written < count && is_pipe(fd) && is_blocking(fd));
    return descriptor_gave((ssize_t)written, site);
}

EXPORT ssize_t write(int fd, const void *buffer, size_t count) {
    CONTROLLED(write, fd, buffer, count);
    return write_to(fd, buffer, count, SITE);
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count) {
    CONTROLLED(writev, fd, parts, count);
    number_operation(INSPECT, SITE);
    file_operation(SET, fd, SITE);
    bool waits = descriptor_may_block(fd);
    if (waits && !descriptor_operation(PUT, &fd, POLLOUT, SITE)) return -1;
    if (connection_fails(SEND_FAULT, fd, SITE)) return number_used(fd, -1);
    ssize_t size = number_used(fd, REAL(writev)(fd, parts, count));
    return waits ? was_sent(size, SITE) : size;
}

EXPORT int close(int fd) {
    CONTROLLED(close, fd);
    number_operation(SET, SITE);
    file_closing(fd, SITE);
    descriptor_change(fd, SITE);
    descriptor_outlived(fd);
    timer_closed(fd);
    int result = number_closed(fd, REAL(close)(fd));
    segment->releases++;
    return (int)descriptor_gave(result, SITE);
}

EXPORT int dup2(int from, int to) {
    CONTROLLED(dup2, from, to);
    number_operation(SET, SITE);
    file_closing(to, SITE);
    if (from == to) return (int)number_used(from, REAL(dup2)(from, to));
    descriptor_change(to, SITE);
    descriptor_outlived(to);
    return (int)descriptor_gave(number_used(from, REAL(dup2)(from, to)), SITE);
}

EXPORT int dup3(int from, int to, int flags) {
    CONTROLLED(dup3, from, to, flags);
    number_operation(SET, SITE);
    file_closing(to, SITE);
    descriptor_change(to, SITE);
    descriptor_outlived(to);
    return (int)descriptor_gave(number_used(from, REAL(dup3)(from, to, flags)), SITE);
}

/* -- sockets -------------------------------------------------------------------------- */

static bool socket_operation(enum kind kind, int *fd, int flags, short events, uint64_t site) {
    return descriptor_operation(kind, fd, flags & MSG_DONTWAIT ? 0 : events, site);
}

static ssize_t receive_once(int fd, void *buffer, size_t length, int flags, struct sockaddr *address, socklen_t *size,
                            uint64_t site) {
    number_operation(INSPECT, site);
    if (!socket_operation(GET, &fd, flags, POLLIN, site)) return -1;
    if (connection_fails(RECV_FAULT, fd, site)) return number_used(fd, -1);
    ssize_t received = number_used(fd, REAL(recvfrom)(fd, buffer, length, flags, address, size));
    touched(buffer, received < (ssize_t)length ? received : (ssize_t)length, WRITE, site);
    return descriptor_took(received, site);
}

/* Whether the kernel goes on until all has come. */
static bool waits_for_all(int fd, int flags) {
    int type = 0, error = errno;
    socklen_t size = sizeof type;
    if (!(flags & MSG_WAITALL) || flags & (MSG_DONTWAIT | MSG_PEEK | MSG_ERRQUEUE | MSG_OOB)) return false;
    bool is_stream = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
    errno = error;
    return is_stream && is_blocking(fd);
}

ssize_t receive(int fd, void *buffer, size_t length, int flags, struct sockaddr *address, socklen_t *size,
                uint64_t site) {
    if (!waits_for_all(fd, flags)) return receive_once(fd, buffer, length, flags, address, size, site);
    size_t received = 0;
    do {
        char *rest = (char *)buffer + received;
        ssize_t more = receive_once(fd, rest, length - received, flags & ~MSG_WAITALL, address, size, site);
        /* What went wrong in the end is for the next call to tell. */
        if (more <= 0) return received ? (ssize_t)received : more;
        received += (size_t)more;
    } while (received < length);
    return (ssize_t)received;
}

EXPORT ssize_t recv(int fd, void *buffer, size_t length, int flags) {
    CONTROLLED(recv, fd, buffer, length, flags);
    return receive(fd, buffer, length, flags, NULL, NULL, SITE);
}

EXPORT ssize_t recvfrom(int fd, void *buffer, size_t length, int flags, struct sockaddr *address,
                        socklen_t *size) {
    CONTROLLED(recvfrom, fd, buffer, length, flags, address, size);
    return receive(fd, buffer, length, flags, address, size, SITE);
}

static ssize_t receive_message(int fd, struct msghdr *message, int flags, uint64_t site) {
    number_operation(INSPECT, site);
    if (!socket_operation(GET, &fd, flags, POLLIN, site)) return -1;
    if (connection_fails(RECV_FAULT, fd, site)) return number_used(fd, -1);
    return descriptor_took(number_used(fd, REAL(recvmsg)(fd, message, flags)), site);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    CONTROLLED(recvmsg, fd, message, flags);
    return receive_message(fd, message, flags, SITE);
}

/* Of the timeout the kernel thinks only once a message has come: then no more are waited for. */
EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout) {
    CONTROLLED(recvmmsg, fd, messages, count, flags, timeout);
    bool waits_for_one = timeout || flags & MSG_WAITFORONE;
    unsigned done = 0;
    for (flags &= ~MSG_WAITFORONE; done < count; done++) {
        ssize_t size = receive_message(fd, &messages[done].msg_hdr, flags, SITE);
        if (size < 0) break;
        messages[done].msg_len = (unsigned)size;
        if (waits_for_one) flags |= MSG_DONTWAIT;
    }
    return done || !count ? (int)done : -1;
}

EXPORT ssize_t send(int fd, const void *buffer, size_t length, int flags) {
    CONTROLLED(send, fd, buffer, length, flags);
    number_operation(INSPECT, SITE);
    if (!socket_operation(PUT, &fd, flags, POLLOUT, SITE)) return -1;
    if (connection_fails(SEND_FAULT, fd, SITE)) return number_used(fd, -1);
    touched(buffer, (ssize_t)length, READ, SITE);
    return was_sent(number_used(fd, REAL(send)(fd, buffer, length, flags)), SITE);
}

EXPORT ssize_t sendto(int fd, const void *buffer, size_t length, int flags,
                      const struct sockaddr *address, socklen_t size) {
    CONTROLLED(sendto, fd, buffer, length, flags, address, size);
    number_operation(INSPECT, SITE);
    socket_name_used(address, size, SITE);
    if (!socket_operation(PUT, &fd, flags, POLLOUT, SITE)) return -1;
    if (connection_fails(SEND_FAULT, fd, SITE)) return number_used(fd, -1);
    touched(buffer, (ssize_t)length, READ, SITE);
    return was_sent(number_used(fd, REAL(sendto)(fd, buffer, length, flags, address, size)), SITE);
}

static ssize_t send_message(int fd, const struct msghdr *message, int flags, uint64_t site) {
    number_operation(INSPECT, site);
    if (!leads_nowhere(message)) socket_name_used(message->msg_name, message->msg_namelen, site);
    if (!socket_operation(PUT, &fd, flags, POLLOUT, site)) return -1;
    if (connection_fails(SEND_FAULT, fd, site)) return number_used(fd, -1);
    return was_sent(number_used(fd, REAL(sendmsg)(fd, message, flags)), site);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    CONTROLLED(sendmsg, fd, message, flags);
    return send_message(fd, message, flags, SITE);
}

EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    CONTROLLED(sendmmsg, fd, messages, count, flags);
    unsigned done = 0;
    for (; done < count; done++) {
        ssize_t size = send_message(fd, &messages[done].msg_hdr, flags, SITE);
        if (size < 0) break;
        messages[done].msg_len = (unsigned)size;
    }
    return done || !count ? (int)done : -1;
}

/* What was written is there at once: else the kernel keeps small writes back until it is sure that those
 * before have arrived, for some milliseconds of real time, in which tasks seem to wait for ever. */
static void deliver_at_once(int fd) {
    int error = errno, yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    errno = error;
}

static int accepted(int fd, uint64_t site) {
    if (fd < 0) return fd;
    /* There is room for another one. */
    segment->releases++;
    deliver_at_once(fd);
    port_is_ours(fd);
    if (segment->room_matters) after_call(descriptor_of_sockets(site), site);
    return fd;
}

EXPORT int accept(int fd, struct sockaddr *address, socklen_t *size) {
    CONTROLLED(accept, fd, address, size);
    number_operation(SET, SITE);
    if (!descriptor_operation(GET, &fd, POLLIN, SITE)) return -1;
    if (fails(ACCEPT_FAULT, SITE)) return (int)number_used(fd, -1);
    return accepted((int)number_used(fd, REAL(accept)(fd, address, size)), SITE);
}

EXPORT int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags) {
    CONTROLLED(accept4, fd, address, size, flags);
    number_operation(SET, SITE);
    if (!descriptor_operation(GET, &fd, POLLIN, SITE)) return -1;
    if (fails(ACCEPT_FAULT, SITE)) return (int)number_used(fd, -1);
    return accepted((int)number_used(fd, REAL(accept4)(fd, address, size, flags)), SITE);
}

/* A connection to a socket with a name waits as long as the other side has no room for one. */
static bool waits_for_room(int fd, const struct sockaddr *address, socklen_t size) {
    bool has_name = size > sizeof address->sa_family && !leads_nowhere(address) && address->sa_family == AF_UNIX;
    return has_name && descriptor_is_socket(fd) && is_blocking(fd);
}

/* In place of -1: errors of connect are among those that mean that a call would block. */
#define REFUSED 1

static long try_to_connect(const struct call *call) {
    int fd = (int)call->numbers[0], flags = REAL(fcntl)(fd, F_GETFL);
    REAL(fcntl)(fd, F_SETFL, flags | O_NONBLOCK);
    int result = REAL(connect)(fd, call->what, (socklen_t)call->numbers[1]), error = errno;
    REAL(fcntl)(fd, F_SETFL, flags);
    errno = error;
    if (result == 0) segment->fd_changes++;
    else if (error == EAGAIN) descriptor_lacks_room();
    return result < 0 && error != EAGAIN ? REFUSED : result;
}

EXPORT int connect(int fd, const struct sockaddr *address, socklen_t size) {
    CONTROLLED(connect, fd, address, size);
    number_operation(INSPECT, SITE);
    socket_name_used(address, size, SITE);
    descriptor_change(fd, SITE);
    if (fails(CONNECT_FAULT, SITE)) return -1;
    if (waits_for_room(fd, address, size)) {
        struct call call = {try_to_connect, address, {fd, (long)size}, NULL, 0, false};
        long result = persist_from_now(&call, PUT, descriptor_of_sockets(SITE), SITE);
        return result == REFUSED ? -1 : (int)descriptor_gave(result, SITE);
    }
    deliver_at_once(fd);
    int result = (int)number_used(fd, REAL(connect)(fd, address, size));
    port_is_ours(fd);
    return (int)descriptor_gave(result, SITE);
}

EXPORT int shutdown(int fd, int how) {
    CONTROLLED(shutdown, fd, how);
    number_operation(INSPECT, SITE);
    descriptor_change(fd, SITE);
    return (int)descriptor_gave(number_used(fd, REAL(shutdown)(fd, how)), SITE);
}
