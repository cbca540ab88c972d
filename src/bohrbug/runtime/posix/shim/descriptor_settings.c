/* What tasks set about descriptors, and ask about them: it decides what operations of others on the same thing do. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "descriptor_numbers.h"
#include "descriptors.h"
#include "real.h"
#include "socket_names.h"

/* The current task is about to set something. */
static void setting(int fd, uint64_t site) {
    number_operation(INSPECT, site);
    descriptor_setting(fd, site);
}

/* It has, with this result, which is returned. */
static int was_set(int fd, int result, uint64_t site) {
    return (int)descriptor_gave(number_used(fd, result), site);
}

/* It is about to ask for something. */
static void asking(int fd, uint64_t site) {
    number_operation(INSPECT, site);
    descriptor_asked(fd, site);
}

/* -- sets of descriptors, and watches ------------------------------------------------------------- */

EXPORT int epoll_ctl(int set, int operation, int fd, struct epoll_event *event) {
    CONTROLLED(epoll_ctl, set, operation, fd, event);
    setting(set, SITE);
    return was_set(set, REAL(epoll_ctl)(set, operation, fd, event), SITE);
}

EXPORT int inotify_add_watch(int fd, const char *path, uint32_t mask) {
    CONTROLLED(inotify_add_watch, fd, path, mask);
    setting(fd, SITE);
    return was_set(fd, REAL(inotify_add_watch)(fd, path, mask), SITE);
}

EXPORT int inotify_rm_watch(int fd, int watch) {
    CONTROLLED(inotify_rm_watch, fd, watch);
    setting(fd, SITE);
    return was_set(fd, REAL(inotify_rm_watch)(fd, watch), SITE);
}

/* -- sockets -------------------------------------------------------------------------------------- */

EXPORT int bind(int fd, const struct sockaddr *address, socklen_t size) {
    CONTROLLED(bind, fd, address, size);
    setting(fd, SITE);
    /* Last: who uses the name before comes before, and nobody between this and the call. */
    socket_name_given(address, size, SITE);
    return was_set(fd, REAL(bind)(fd, address, size), SITE);
}

EXPORT int listen(int fd, int most) {
    CONTROLLED(listen, fd, most);
    setting(fd, SITE);
    return was_set(fd, REAL(listen)(fd, most), SITE);
}

EXPORT int getsockname(int fd, struct sockaddr *address, socklen_t *size) {
    CALLED_BY_PROGRAM(getsockname, fd, address, size);
    asking(fd, SITE);
    return (int)number_used(fd, REAL(getsockname)(fd, address, size));
}

EXPORT int getpeername(int fd, struct sockaddr *address, socklen_t *size) {
    CALLED_BY_PROGRAM(getpeername, fd, address, size);
    asking(fd, SITE);
    return (int)number_used(fd, REAL(getpeername)(fd, address, size));
}

/* Whether tasks that share the socket, or are at its other end, can tell: the rest is about speed, or about what its
 * own task does next. */
static bool others_can_tell(int level, int option) {
    if (level != SOL_SOCKET) return false;
    switch (option) {
    case SO_RCVTIMEO: case SO_SNDTIMEO: case SO_RCVLOWAT: case SO_RCVBUF: case SO_SNDBUF: case SO_LINGER: case SO_ERROR:
        return true;
    default:
        return false;
    }
}

EXPORT int setsockopt(int fd, int level, int option, const void *value, socklen_t size) {
    CALLED_BY_PROGRAM(setsockopt, fd, level, option, value, size);
    if (!others_can_tell(level, option))
        return (int)number_used(fd, REAL(setsockopt)(fd, level, option, value, size));
    if (option == SO_RCVTIMEO || option == SO_SNDTIMEO) descriptor_sets_mode();
    setting(fd, SITE);
    return was_set(fd, REAL(setsockopt)(fd, level, option, value, size), SITE);
}

EXPORT int getsockopt(int fd, int level, int option, void *value, socklen_t *size) {
    CALLED_BY_PROGRAM(getsockopt, fd, level, option, value, size);
    if (!others_can_tell(level, option)) return REAL(getsockopt)(fd, level, option, value, size);
    /* To ask for an error takes it away. */
    if (option == SO_ERROR) setting(fd, SITE);
    else asking(fd, SITE);
    return (int)number_used(fd, REAL(getsockopt)(fd, level, option, value, size));
}

/* -- any descriptor ------------------------------------------------------------------------------- */

EXPORT int ioctl(int fd, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    CALLED_BY_PROGRAM(ioctl, fd, request, argument);
    if (request == FIONBIO) {
        descriptor_sets_mode();
        setting(fd, SITE);
        return was_set(fd, REAL(ioctl)(fd, request, argument), SITE);
    }
    if (request == FIONREAD || request == TIOCOUTQ) asking(fd, SITE);
    return REAL(ioctl)(fd, request, argument);
}
