/* Who may do what with a file, whose it is, and how old: what names lead to, and what its descriptors tell, changes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "addresses.h"
#include "descriptor_numbers.h"
#include "files.h"
#include "real.h"
#include "task.h"

static void status_operation_at(int folder, const char *path, uint64_t site) {
    file_name_operation(SET, folder, path, site);
    file_operation_at(SET, folder, path, site);
}

/* Those who open the file do so by a name. */
static void status_operation(int fd, uint64_t site) {
    char link[32], path[PATH_MAX];
    int error = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = REAL(readlink)(link, path, sizeof path - 1);
    errno = error;
    if (length > 0 && *path == '/') {
        path[length] = 0;
        file_name_operation(SET, AT_FDCWD, path, site);
    }
    file_operation(SET, fd, site);
}

#define CHANGES_AT(name, parameters, folder, path, ...) \
    EXPORT int name parameters { \
        CALLED_BY_PROGRAM(name, __VA_ARGS__); \
        status_operation_at(folder, path, SITE); \
        return REAL(name)(__VA_ARGS__); \
    }

CHANGES_AT(chmod, (const char *path, mode_t mode), AT_FDCWD, path, path, mode)
CHANGES_AT(fchmodat, (int folder, const char *path, mode_t mode, int flags), folder, path, folder, path, mode, flags)
CHANGES_AT(chown, (const char *path, uid_t user, gid_t group), AT_FDCWD, path, path, user, group)
CHANGES_AT(lchown, (const char *path, uid_t user, gid_t group), AT_FDCWD, path, path, user, group)
CHANGES_AT(fchownat, (int folder, const char *path, uid_t user, gid_t group, int flags), folder, path, folder, path,
           user, group, flags)
CHANGES_AT(utime, (const char *path, const struct utimbuf *times), AT_FDCWD, path, path, times)
CHANGES_AT(utimes, (const char *path, const struct timeval times[2]), AT_FDCWD, path, path, times)

#define CHANGES(name, parameters, ...) \
    EXPORT int name parameters { \
        CALLED_BY_PROGRAM(name, __VA_ARGS__); \
        number_operation(INSPECT, SITE); \
        status_operation(fd, SITE); \
        return (int)number_used(fd, REAL(name)(__VA_ARGS__)); \
    }

CHANGES(fchmod, (int fd, mode_t mode), fd, mode)
CHANGES(fchown, (int fd, uid_t user, gid_t group), fd, user, group)
CHANGES(futimens, (int fd, const struct timespec times[2]), fd, times)
CHANGES(futimes, (int fd, const struct timeval times[2]), fd, times)

/* Without a path it means the descriptor. */
EXPORT int utimensat(int folder, const char *path, const struct timespec times[2], int flags) {
    CALLED_BY_PROGRAM(utimensat, folder, path, times, flags);
    if (leads_nowhere(path)) status_operation(folder, SITE);
    else status_operation_at(folder, path, SITE);
    return REAL(utimensat)(folder, path, times, flags);
}
