/* Opening a FIFO, which waits until its other end is opened, too. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "clock.h"
#include "descriptor_numbers.h"
#include "descriptors.h"
#include "files.h"
#include "real.h"
#include "trying.h"

/* Of a file system's clock, at most. */
#define CLOCK_STEP (SECOND / 100)

/* The numbers of a call. */
enum { FOLDER, FLAGS, MODE, OPENED };

static bool is_fifo(int folder, const char *path) {
    struct stat status;
    int error = errno;
    bool found = fstatat(folder, path, &status, 0) == 0 && S_ISFIFO(status.st_mode);
    errno = error;
    return found;
}

/* A FIFO that was there before is there for somebody outside, perhaps; one that the test has made is for
 * the test.  Writing changes all times but that of its birth, which some file systems don't keep. */
static enum outsider who_may_come(const struct call *call) {
    struct statx status;
    bool known = statx((int)call->numbers[FOLDER], call->what, 0, STATX_BTIME, &status) == 0 &&
                 status.stx_mask & STATX_BTIME;
    if (!known) return MAY_COME;
    uint64_t born = (uint64_t)status.stx_btime.tv_sec * SECOND + status.stx_btime.tv_nsec;
    return born + CLOCK_STEP < segment->made ? CONNECTED : MAY_COME;
}

static long try_to_open_for_writing(const struct call *call) {
    long fd = REAL(openat)((int)call->numbers[FOLDER], call->what,
                           (int)call->numbers[FLAGS] | O_NONBLOCK, (mode_t)call->numbers[MODE]);
    if (fd < 0 && errno == ENXIO) errno = EAGAIN;
    return fd;
}

/* Whether somebody writes, or has written, since this end was opened. */
static long try_to_see_writer(const struct call *call) {
    int fd = (int)call->numbers[OPENED], waiting = 0;
    struct pollfd end = {fd, POLLIN, 0};
    char nothing;
    if (ioctl(fd, FIONREAD, &waiting) == 0 && waiting > 0) return fd;
    if (REAL(poll)(&end, 1, 0) > 0) return fd;
    /* An empty pipe ends where nobody writes. */
    if (REAL(read)(fd, &nothing, 1) < 0 && errno == EAGAIN) return fd;
    errno = EAGAIN;
    return -1;
}

/* Both ends at once, or without waiting: these don't block, but others may wait for an end. */
static bool waits_for_other_end(int flags) { return (flags & O_ACCMODE) != O_RDWR && !(flags & O_NONBLOCK); }

static int open_at_once(int folder, const char *path, int flags, mode_t mode, uint64_t site) {
    uint32_t resource = descriptor_fifo(folder, path, site);
    perform(SET, resource, site);
    int fd = REAL(openat)(folder, path, flags, mode);
    if (fd < 0) return fd;
    segment->releases++;
    segment->fd_changes++;
    after_call(resource, site);
    return fd;
}

static int open_fifo(int folder, const char *path, int flags, mode_t mode, uint64_t site) {
    if (!waits_for_other_end(flags)) return open_at_once(folder, path, flags, mode, site);
    bool reads = (flags & O_ACCMODE) == O_RDONLY;
    struct call call = {
        .attempt = try_to_open_for_writing,
        .what = path,
        .numbers = {folder, flags, (long)mode},
        .outsider = who_may_come,
    };
    uint32_t resource = descriptor_fifo(folder, path, site);
    perform(SET, resource, site);
    if (reads) {
        /* From now on it can be opened for writing. */
        call.numbers[OPENED] = REAL(openat)(folder, path, flags | O_NONBLOCK, mode);
        if (call.numbers[OPENED] < 0) return -1;
        call.attempt = try_to_see_writer;
        segment->releases++;
        segment->fd_changes++;
    }
    int fd = (int)persist_from_now(&call, SET, resource, site);
    int error = errno;
    if (fd < 0) {
        if (reads) REAL(close)((int)call.numbers[OPENED]);
        errno = error;
        return -1;
    }
    REAL(fcntl)(fd, F_SETFL, REAL(fcntl)(fd, F_GETFL) & ~O_NONBLOCK);
    segment->fd_changes++;
    let_go(resource, site);
    return fd;
}

static bool opens_fifo(int folder, const char *path, int flags) {
    return !(flags & (O_PATH | O_DIRECTORY)) && is_fifo(folder, path);
}

/* -- what programs call ---------------------------------------------------------------------- */

#define OPENS(name) \
    EXPORT int name(const char *path, int flags, ...) { \
        va_list arguments; \
        va_start(arguments, flags); \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0; \
        va_end(arguments); \
        CONTROLLED(name, path, flags, mode); \
        number_operation(SET, SITE); \
        if (opens_fifo(AT_FDCWD, path, flags)) \
            return open_fifo(AT_FDCWD, path, flags, mode, SITE); \
        file_opening(AT_FDCWD, path, flags, SITE); \
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
        number_operation(SET, SITE); \
        if (opens_fifo(folder, path, flags)) \
            return open_fifo(folder, path, flags, mode, SITE); \
        file_opening(folder, path, flags, SITE); \
        return REAL(name)(folder, path, flags, mode); \
    }

OPENS_AT(openat)
OPENS_AT(openat64)

/* As <fcntl.h> has them for programs whose buffers are checked. */
#define OPENS_CHECKED(name) \
    EXPORT int name(const char *path, int flags) { \
        CONTROLLED(name, path, flags); \
        number_operation(SET, SITE); \
        if (opens_fifo(AT_FDCWD, path, flags)) \
            return open_fifo(AT_FDCWD, path, flags, 0, SITE); \
        file_opening(AT_FDCWD, path, flags, SITE); \
        return REAL(name)(path, flags); \
    }

OPENS_CHECKED(__open_2)
OPENS_CHECKED(__open64_2)

static int open_for_stream(const char *path, const char *mode, uint64_t site) {
    int flags = strchr(mode, '+') ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
    if (strchr(mode, 'e')) flags |= O_CLOEXEC;
    return open_fifo(AT_FDCWD, path, flags, 0, site);
}

static FILE *stream_of(const char *path, const char *mode, uint64_t site) {
    int fd = open_for_stream(path, mode, site);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, mode);
    if (fd >= 0 && !stream) REAL(close)(fd);
    return stream;
}

#define OPENS_STREAM(name) \
    EXPORT FILE *name(const char *path, const char *mode) { \
        CONTROLLED(name, path, mode); \
        number_operation(SET, SITE); \
        if (is_fifo(AT_FDCWD, path)) return stream_of(path, mode, SITE); \
        file_opening(AT_FDCWD, path, *mode == 'r' ? 0 : *mode == 'w' ? O_CREAT | O_TRUNC : O_CREAT, SITE); \
        return REAL(name)(path, mode); \
    }

OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)

/* What the stream was on is closed first, which others may wait for. */
static void let_go_of(FILE *stream, uint64_t site) {
    int fd = fileno(stream);
    if (fd < 0 || !descriptor_may_block(fd)) return;
    descriptor_change(fd, site);
    REAL(fflush)(stream);
    int nothing = REAL(open)("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0) return;
    REAL(dup3)(nothing, fd, O_CLOEXEC);
    REAL(close)(nothing);
    segment->releases++;
    segment->fd_changes++;
}

/* The C library opens it a second time, which can't block while somebody has both ends. */
static FILE *reopened(FILE *(*real)(const char *, const char *, FILE *), const char *path,
                      const char *mode, FILE *stream, uint64_t site) {
    int fd = open_for_stream(path, mode, site), error = errno;
    int both = fd < 0 ? -1 : REAL(open)(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    FILE *result = real(fd < 0 ? "" : path, mode, stream);
    if (fd < 0) errno = error;
    if (both >= 0) REAL(close)(both);
    if (fd >= 0) REAL(close)(fd);
    return result;
}

#define REOPENS_STREAM(name) \
    EXPORT FILE *name(const char *path, const char *mode, FILE *stream) { \
        CONTROLLED(name, path, mode, stream); \
        bool waits = path && !strchr(mode, '+') && is_fifo(AT_FDCWD, path); \
        if (path) let_go_of(stream, SITE); \
        return waits ? reopened(REAL(name), path, mode, stream, SITE) \
                     : REAL(name)(path, mode, stream); \
    }

REOPENS_STREAM(freopen)
REOPENS_STREAM(freopen64)
