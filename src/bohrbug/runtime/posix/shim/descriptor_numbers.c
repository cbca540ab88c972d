/* Descriptors as numbers, which the kernel gives out again.
 *
 * While tasks use open descriptors only, nobody can tell one number from another, and it does not matter
 * who makes or closes a descriptor first.  A task that uses a number which was closed before gets EBADF;
 * but it may just as well meet what another task has opened since, as the kernel gives out the lowest
 * number that is free.  Once any execution has shown such a use, which the segment says, making, using and
 * closing descriptors are operations on the numbers of the process: see `Dependences` in recorded.py.
 */
#include "descriptor_numbers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process_state.h"
#include "real.h"
#include "schedule.h"

/* Higher ones are not followed. */
#define MOST_NUMBERS 4096

/* The numbers that were closed in this process, as bits. */
static uint64_t closed[MOST_NUMBERS / 64];

void number_operation(enum kind kind, uint64_t site) {
    if (segment->numbers_matter) process_state_operation(kind, DESCRIPTOR_NUMBERS, site);
}

static void note_bad(int fd) {
    if (alone || segment->alive_count < 2 || fd < 0 || fd >= MOST_NUMBERS) return;
    if (closed[fd / 64] >> fd % 64 & 1) segment->stale_numbers = 1;
}

/* So high that the program hardly gets there, and low enough for the usual limit. */
#define FIRST_KEPT 700
#define MOST_KEPT 64

static bool is_kept[MOST_KEPT];

int number_kept(int fd) {
    int error = errno;
    int kept = REAL(fcntl)(fd, F_DUPFD_CLOEXEC, FIRST_KEPT);
    errno = error;
    if (kept >= FIRST_KEPT + MOST_KEPT) {
        REAL(close)(kept);
        return -1;
    }
    if (kept >= 0) is_kept[kept - FIRST_KEPT] = true;
    return kept;
}

static void let_go_of(int fd) {
    if (fd < FIRST_KEPT || fd >= FIRST_KEPT + MOST_KEPT || !is_kept[fd - FIRST_KEPT]) return;
    int error = errno;
    is_kept[fd - FIRST_KEPT] = false;
    REAL(close)(fd);
    errno = error;
}

ssize_t number_used(int fd, ssize_t result) {
    let_go_of(fd);
    if (result < 0 && errno == EBADF) note_bad(fd);
    return result;
}

int number_closed(int fd, int result) {
    if (result == 0 && fd >= 0 && fd < MOST_NUMBERS) closed[fd / 64] |= (uint64_t)1 << fd % 64;
    return (int)number_used(fd, result);
}

/* -- what programs call -------------------------------------------------------------------------- */

#define MAKES(type, name, parameters, ...) \
    EXPORT type name parameters { \
        CALLED_BY_PROGRAM(name, __VA_ARGS__); \
        number_operation(SET, SITE); \
        return REAL(name)(__VA_ARGS__); \
    }

MAKES(int, socket, (int domain, int type, int protocol), domain, type, protocol)
MAKES(int, socketpair, (int domain, int type, int protocol, int ends[2]), domain, type, protocol, ends)
MAKES(int, pipe, (int ends[2]), ends)
MAKES(int, pipe2, (int ends[2], int flags), ends, flags)
MAKES(int, eventfd, (unsigned value, int flags), value, flags)
MAKES(int, epoll_create, (int size), size)
MAKES(int, epoll_create1, (int flags), flags)
MAKES(int, signalfd, (int fd, const sigset_t *signals, int flags), fd, signals, flags)
MAKES(int, memfd_create, (const char *name, unsigned flags), name, flags)
MAKES(int, inotify_init, (void))
MAKES(int, inotify_init1, (int flags), flags)
MAKES(int, mkstemp, (char *path), path)
MAKES(DIR *, opendir, (const char *path), path)

EXPORT int dup(int fd) {
    CALLED_BY_PROGRAM(dup, fd);
    number_operation(SET, SITE);
    return (int)number_used(fd, REAL(dup)(fd));
}
