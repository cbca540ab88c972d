#include "file_locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "segment.h"

static bool is_of_execution(long pid) {
    for (uint32_t i = 0; i < segment->processes; i++)
        if (PROCESSES[i].pid == pid) return true;
    return false;
}

/* A field of a line, counted from 0; NULL if there are not so many. */
static const char *field(const char *line, int number) {
    for (; number > 0 && line; number--) {
        line = strchr(line, ' ');
        while (line && *line == ' ') line++;
    }
    return line;
}

/* Such as "3: FLOCK  ADVISORY  WRITE 4711 fd:00:1234 0 EOF"; those that wait have "->" before their kind.
 * Locks of open files have no process. */
static int32_t owner_in(const char *line, uint64_t inode) {
    const char *kind = field(line, 1), *owner = field(line, 4), *file = field(line, 5);
    if (!file || (strncmp(kind, "FLOCK", 5) && strncmp(kind, "POSIX", 5))) return 0;
    const char *major_ends = strchr(file, ':');
    const char *minor_ends = major_ends ? strchr(major_ends + 1, ':') : NULL;
    long pid = strtol(owner, NULL, 10);
    if (!minor_ends || strtoull(minor_ends + 1, NULL, 10) != inode) return 0;
    return pid > 0 && !is_of_execution(pid) ? (int32_t)pid : 0;
}

int32_t lock_owner_outside(uint64_t inode) {
    /* Nothing may be allocated: the task may wait for a lock of the allocator. */
    char text[4096];
    int error = errno;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/locks", O_RDONLY | O_CLOEXEC);
    size_t kept = 0;
    int32_t found = 0;
    long length;
    while (fd >= 0 && !found &&
           (length = syscall(SYS_read, fd, text + kept, sizeof text - 1 - kept)) > 0) {
        kept += (size_t)length;
        text[kept] = 0;
        char *line = text;
        for (char *end; !found && (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            found = owner_in(line, inode);
        }
        kept -= (size_t)(line - text);
        memmove(text, line, kept);
    }
    if (fd >= 0) syscall(SYS_close, fd);
    errno = error;
    return found;
}
