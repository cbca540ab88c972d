#include "forkable.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "real.h"
#include "segment.h"

#define MOST_DESCRIPTORS 256
/* More than the longest line of the list of mappings. */
#define PIECE 8192

/* As bits. */
static uint64_t inherited[MOST_DESCRIPTORS / 64];

void note_inherited_descriptors(void) {
    for (int fd = 3; fd < MOST_DESCRIPTORS; fd++)
        if (REAL(fcntl)(fd, F_GETFD) >= 0) inherited[fd / 64] |= UINT64_C(1) << fd % 64;
}

/* Files have a position, pipes and sockets have what is in them.  Devices have nothing. */
static bool has_state(int fd) {
    struct stat status;
    if (fstat(fd, &status) < 0 || S_ISCHR(status.st_mode)) return false;
    return S_ISREG(status.st_mode) || !(inherited[fd / 64] & UINT64_C(1) << fd % 64);
}

/* A line of the list of mappings: memory that is written to, and is not that of this library. */
static bool is_shared(const char *line) {
    char *at;
    uintptr_t start = strtoull(line, &at, 16);
    strtoull(at + 1, &at, 16);
    return at[2] == 'w' && at[4] == 's' && start != (uintptr_t)segment;
}

/* Nothing is asked of the heap: it is to be as in a program that does not wait. */
static bool has_shared_memory(void) {
    char text[PIECE];
    size_t length = 0;
    bool is_there = false;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return true;
    long more;
    while ((more = syscall(SYS_read, fd, text + length, sizeof text - 1 - length)) > 0) {
        length += (size_t)more;
        text[length] = 0;
        char *line = text;
        for (char *end; (end = strchr(line, '\n')); line = end + 1)
            is_there |= is_shared(line);
        length -= (size_t)(line - text);
        memmove(text, line, length);
    }
    syscall(SYS_close, fd);
    return is_there;
}

static bool has_timer(void) {
    static const int kinds[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct itimerval left;
        if (getitimer(kinds[i], &left) == 0 && timerisset(&left.it_value)) return true;
    }
    /* Those of timer_create, set or not; not all kernels have the list. */
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/timers", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    char first;
    bool is_there = syscall(SYS_read, fd, &first, 1) == 1;
    syscall(SYS_close, fd);
    return is_there;
}

bool is_forkable(void) {
    for (int fd = 3; fd < MOST_DESCRIPTORS; fd++)
        if (has_state(fd)) return false;
    return !has_shared_memory() && !has_timer();
}
