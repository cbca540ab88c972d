/* Opening a FIFO, which waits until its other end is opened, too. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "descriptors.h"
#include "real.h"
#include "trying.h"

static bool is_fifo(int folder, const char *path) {
    struct stat status;
    int error = errno;
    bool found = fstatat(folder, path, &status, 0) == 0 && S_ISFIFO(status.st_mode);
    errno = error;
    return found;
}

static enum outsider anybody_may_come(const struct call *call) {
    (void)call;
    return MAY_COME;
}

static long try_to_open_for_writing(const struct call *call) {
    long fd = REAL(openat)((int)call->numbers[0], call->what, (int)call->numbers[1] | O_NONBLOCK,
                           (mode_t)call->numbers[2]);
    if (fd < 0 && errno == ENXIO) errno = EAGAIN;
    return fd;
}

/* Whether somebody writes, or has written, since this end was opened. */
static long try_to_see_writer(const struct call *call) {
    int fd = (int)call->numbers[0], waiting = 0;
    struct pollfd end = {fd, POLLIN, 0};
    char nothing;
    if (ioctl(fd, FIONREAD, &waiting) == 0 && waiting > 0) return fd;
    if (REAL(poll)(&end, 1, 0) > 0) return fd;
    /* An empty pipe ends where nobody writes. */
    if (REAL(read)(fd, &nothing, 1) < 0 && errno == EAGAIN) return fd;
    errno = EAGAIN;
    return -1;
}

static int open_fifo(int folder, const char *path, int flags, mode_t mode, uint64_t site) {
    bool reads = (flags & O_ACCMODE) == O_RDONLY;
    struct call call = {
        try_to_open_for_writing, path, {folder, flags, (long)mode}, anybody_may_come,
    };
    uint32_t resource = descriptor_fifo(folder, path, site);
    perform(SET, resource, site);
    if (reads) {
        /* From now on it can be opened for writing. */
        call.numbers[0] = REAL(openat)(folder, path, flags | O_NONBLOCK, mode);
        if (call.numbers[0] < 0) return -1;
        call.attempt = try_to_see_writer;
        segment->releases++;
        segment->fd_changes++;
    }
    int fd = (int)persist_from_now(&call, reads ? GET : PUT, resource, site);
    int error = errno;
    if (fd < 0) {
        if (reads) REAL(close)((int)call.numbers[0]);
        errno = error;
        return -1;
    }
    REAL(fcntl)(fd, F_SETFL, REAL(fcntl)(fd, F_GETFL) & ~O_NONBLOCK);
    segment->fd_changes++;
    let_go(resource, site);
    return fd;
}

/* Both ends at once, or without waiting: these don't block. */
static bool waits_for_other_end(int folder, const char *path, int flags) {
    bool both = (flags & O_ACCMODE) == O_RDWR;
    return !both && !(flags & (O_NONBLOCK | O_PATH | O_DIRECTORY)) && is_fifo(folder, path);
}

/* -- what programs call ---------------------------------------------------------------------- */

#define OPENS(name) \
    EXPORT int name(const char *path, int flags, ...) { \
        va_list arguments; \
        va_start(arguments, flags); \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0; \
        va_end(arguments); \
        CONTROLLED(name, path, flags, mode); \
        if (waits_for_other_end(AT_FDCWD, path, flags)) \
            return open_fifo(AT_FDCWD, path, flags, mode, SITE); \
        return REAL(name)(path, flags, mode); \
    }

OPENS(open)
OPENS(open64)

#define OPENS_AT(name) \
    EXPORT int name(int folder, const char *path, int flags, ...) { \
        va_list arguments; \
        va_start(arguments, flags); \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0; \
        va_end(arguments); \
        CONTROLLED(name, folder, path, flags, mode); \
        if (waits_for_other_end(folder, path, flags)) \
            return open_fifo(folder, path, flags, mode, SITE); \
        return REAL(name)(folder, path, flags, mode); \
    }

OPENS_AT(openat)
OPENS_AT(openat64)

/* As <fcntl.h> has them for programs whose buffers are checked. */
#define OPENS_CHECKED(name) \
    EXPORT int name(const char *path, int flags) { \
        CONTROLLED(name, path, flags); \
        if (waits_for_other_end(AT_FDCWD, path, flags)) \
            return open_fifo(AT_FDCWD, path, flags, 0, SITE); \
        return REAL(name)(path, flags); \
    }

OPENS_CHECKED(__open_2)
OPENS_CHECKED(__open64_2)

static FILE *stream_of(const char *path, const char *mode, uint64_t site) {
    int flags = *mode == 'r' ? O_RDONLY : O_WRONLY;
    if (strchr(mode, 'e')) flags |= O_CLOEXEC;
    int fd = open_fifo(AT_FDCWD, path, flags, 0, site);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, mode);
    if (fd >= 0 && !stream) REAL(close)(fd);
    return stream;
}

#define OPENS_STREAM(name) \
    EXPORT FILE *name(const char *path, const char *mode) { \
        CONTROLLED(name, path, mode); \
        bool both = strchr(mode, '+') != NULL; \
        if (!both && is_fifo(AT_FDCWD, path)) return stream_of(path, mode, SITE); \
        return REAL(name)(path, mode); \
    }

OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)
