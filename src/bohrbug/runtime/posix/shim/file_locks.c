#include "file_locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
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

/* What a line says of a lock, such as "3: FLOCK  ADVISORY  WRITE 4711 fd:00:1234 0 EOF"; those that wait
 * have "->" before their kind. */
static int32_t owner_in(const char *line, uint64_t inode) {
    const char *kind = field(line, 1), *owner = field(line, 4), *file = field(line, 5);
    bool is_open_file = file && !strncmp(kind, "OFDLCK", 6);
    if (!file || (!is_open_file && strncmp(kind, "FLOCK", 5) && strncmp(kind, "POSIX", 5))) return 0;
    const char *major_ends = strchr(file, ':');
    const char *minor_ends = major_ends ? strchr(major_ends + 1, ':') : NULL;
    if (!minor_ends || strtoull(minor_ends + 1, NULL, 10) != inode) return 0;
    if (is_open_file) return SOMEBODY;
    long pid = strtol(owner, NULL, 10);
    return pid > 0 && !is_of_execution(pid) ? (int32_t)pid : 0;
}

/* The first owner that a file of the kernel's names whose lines are locks, those of `start` only.  Nothing
 * may be allocated: the task may wait for a lock of the allocator. */
static int32_t owner_of(const char *path, const char *start, uint64_t inode) {
    char text[4096];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    size_t kept = 0, skipped = strlen(start);
    int32_t found = 0;
    long length;
    while (fd >= 0 && !found &&
           (length = syscall(SYS_read, fd, text + kept, sizeof text - 1 - kept)) > 0) {
        kept += (size_t)length;
        text[kept] = 0;
        char *line = text;
        for (char *end; !found && (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            if (strncmp(line, start, skipped) == 0) found = owner_in(line + skipped, inode);
        }
        kept -= (size_t)(line - text);
        memmove(text, line, kept);
    }
    if (fd >= 0) syscall(SYS_close, fd);
    return found;
}

/* As the kernel has it, which the C library hides behind what allocates. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

/* Whether a process has a file open by which it is locked. */
static bool locks_open_file(long pid, uint64_t inode) {
    _Alignas(8) char entries[2048];
    char folder[48], path[80];
    bool found = false;
    snprintf(folder, sizeof folder, "/proc/%ld/fdinfo", pid);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long length;
    while (fd >= 0 && !found &&
           (length = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0) {
        for (long at = 0; at < length && !found;) {
            const struct entry *entry = (const void *)(entries + at);
            at += entry->length;
            snprintf(path, sizeof path, "%s/%.20s", folder, entry->name);
            found = *entry->name != '.' && owner_of(path, "lock:\t", inode) == SOMEBODY;
        }
    }
    if (fd >= 0) syscall(SYS_close, fd);
    return found;
}

int32_t lock_owner_outside(uint64_t inode) {
    int error = errno;
    int32_t owner = owner_of("/proc/locks", "", inode);
    for (uint32_t i = 0; owner == SOMEBODY && i < segment->processes; i++)
        if (PROCESSES[i].pid > 0 && PROCESSES[i].state == ALIVE &&
            locks_open_file(PROCESSES[i].pid, inode))
            owner = 0;
    errno = error;
    return owner;
}
