/* What is in regular files, and what they are called: several tasks may use one.
 *
 * A file is told by its inode, in whichever process, and by whichever descriptor.  All that moves the
 * position in it counts as a change of it, so that two tasks which read one descriptor depend on each
 * other.  A name is told by its last part: files that are called alike in several folders count as one,
 * which costs executions and leaves nothing out.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "accesses.h"
#include "addresses.h"
#include "descriptor_numbers.h"
#include "descriptors.h"
#include "fnv.h"
#include "folders.h"
#include "process_state.h"
#include "real.h"
#include "trying.h"

/* Output is compared, if at all, at the end. */
static bool is_output(int fd) { return fd == STDOUT_FILENO || fd == STDERR_FILENO; }

/* Where packages are installed, the kernel tells of itself, and devices are. */
static const char *const unchanging[] = {"/usr/", "/lib/", "/lib64/", "/proc/", "/sys/", "/dev/"};

static bool is_unchanging(const char *path) {
    for (size_t i = 0; i < sizeof unchanging / sizeof *unchanging; i++)
        if (strncmp(path, unchanging[i], strlen(unchanging[i])) == 0)
            return strncmp(path, "/dev/shm/", 9) != 0 && strncmp(path, "/dev/mqueue/", 12) != 0;
    return false;
}

/* Whatever is done with a device or a folder by its descriptor comes before or after it is closed. */
static bool is_device_or_folder(const struct stat *status) {
    return S_ISCHR(status->st_mode) || S_ISBLK(status->st_mode) || S_ISDIR(status->st_mode);
}

static void operate(enum kind kind, const struct stat *status, uint64_t site) {
    struct resource *file = resource_named(FILES, key_of_file(status), CONTENT, site);
    perform(kind, resource_index(file), site);
}

static bool is_followed(int fd, struct stat *status) {
    if (segment->alive_count < 2 || is_output(fd)) return false;
    int error = errno;
    bool found = REAL(fstat)(fd, status) == 0;
    errno = error;
    return found;
}

void file_operation(enum kind kind, int fd, uint64_t site) {
    struct stat status;
    if (!is_followed(fd, &status)) return;
    if (S_ISREG(status.st_mode)) operate(kind, &status, site);
    else if (is_device_or_folder(&status)) operate(INSPECT, &status, site);
}

void file_closing(int fd, uint64_t site) {
    struct stat status;
    if (!is_followed(fd, &status)) return;
    if (S_ISREG(status.st_mode) || is_device_or_folder(&status)) operate(SET, &status, site);
}

void file_operation_at(enum kind kind, int folder, const char *path, uint64_t site) {
    if (segment->alive_count < 2 || leads_nowhere(path) || (kind == INSPECT && is_unchanging(path))) return;
    struct stat status;
    int error = errno;
    bool found = REAL(fstatat)(folder, path, &status, 0) == 0;
    errno = error;
    if (found && S_ISREG(status.st_mode)) operate(kind, &status, site);
}

static uint64_t key_of_last_part(const char *path) {
    const char *end = path + strlen(path);
    while (end > path + 1 && end[-1] == '/') end--;
    const char *begin = end;
    while (begin > path && begin[-1] != '/') begin--;
    return fnv_1a(begin, end);
}

/* Where a path begins, another thread may change. */
static uint32_t name_of_path(int folder, const char *path, uint64_t site) {
    if (folder == AT_FDCWD && *path != '/') process_state_operation(INSPECT, WORKING_DIRECTORY, site);
    return resource_index(resource_named(FILE_NAMES, key_of_last_part(path), NAME, site));
}

void file_name_operation(enum kind kind, int folder, const char *path, uint64_t site) {
    if (segment->alive_count < 2 || leads_nowhere(path) || (kind == INSPECT && is_unchanging(path))) return;
    uint32_t name = name_of_path(folder, path, site);
    if (kind != INSPECT) current->also = folder_of(folder, path, site);
    perform(kind, name, site);
}

void file_name_beside(int folder, const char *path, uint64_t site) {
    if (segment->alive_count > 1 && !is_unchanging(path)) current->also = name_of_path(folder, path, site);
}

void file_opening(int folder, const char *path, int flags, uint64_t site) {
    file_name_operation(flags & O_CREAT ? SET : INSPECT, folder, path, site);
    if (flags & O_TRUNC) file_operation_at(SET, folder, path, site);
}

/* -- what programs call: descriptors ------------------------------------------------------------- */

#define ON_FILE(kind, type, name, parameters, fd, ...) \
    EXPORT type name parameters { \
        CALLED_BY_PROGRAM(name, __VA_ARGS__); \
        number_operation(INSPECT, SITE); \
        file_operation(kind, fd, SITE); \
        return (type)number_used(fd, REAL(name)(__VA_ARGS__)); \
    }

#define READS_AT(name, offset) \
    EXPORT ssize_t name(int fd, void *buffer, size_t count, offset at) { \
        CALLED_BY_PROGRAM(name, fd, buffer, count, at); \
        number_operation(INSPECT, SITE); \
        file_operation(INSPECT, fd, SITE); \
        ssize_t size = number_used(fd, REAL(name)(fd, buffer, count, at)); \
        touched(buffer, size, WRITE, SITE); \
        return size; \
    }
READS_AT(pread, off_t)
READS_AT(pread64, off64_t)

#define READS_CHECKED_AT(name, offset) \
    EXPORT ssize_t name(int fd, void *buffer, size_t count, offset at, size_t length) { \
        if (count > length) return REAL(name)(fd, buffer, count, at, length); \
        CALLED_BY_PROGRAM(name, fd, buffer, count, at, length); \
        number_operation(INSPECT, SITE); \
        file_operation(INSPECT, fd, SITE); \
        ssize_t size = number_used(fd, REAL(name)(fd, buffer, count, at, length)); \
        touched(buffer, size, WRITE, SITE); \
        return size; \
    }
READS_CHECKED_AT(__pread_chk, off_t)
READS_CHECKED_AT(__pread64_chk, off64_t)

#define WRITES_AT(name, offset) \
    EXPORT ssize_t name(int fd, const void *buffer, size_t count, offset at) { \
        CALLED_BY_PROGRAM(name, fd, buffer, count, at); \
        number_operation(INSPECT, SITE); \
        file_operation(SET, fd, SITE); \
        touched(buffer, (ssize_t)count, READ, SITE); \
        return number_used(fd, REAL(name)(fd, buffer, count, at)); \
    }
WRITES_AT(pwrite, off_t)
WRITES_AT(pwrite64, off64_t)

ON_FILE(INSPECT, ssize_t, preadv, (int fd, const struct iovec *parts, int count, off_t at), fd, fd, parts,
        count, at)
ON_FILE(INSPECT, ssize_t, preadv64, (int fd, const struct iovec *parts, int count, off64_t at), fd, fd,
        parts, count, at)
ON_FILE(SET, ssize_t, pwritev, (int fd, const struct iovec *parts, int count, off_t at), fd, fd, parts,
        count, at)
ON_FILE(SET, ssize_t, pwritev64, (int fd, const struct iovec *parts, int count, off64_t at), fd, fd, parts,
        count, at)

/* At -1 they are as readv and writev. */
#define IN_PARTS(name, kind_at, kind, events, offset) \
    EXPORT ssize_t name(int fd, const struct iovec *parts, int count, offset at, int flags) { \
        CALLED_BY_PROGRAM(name, fd, parts, count, at, flags); \
        number_operation(INSPECT, SITE); \
        file_operation(at == -1 ? SET : kind_at, fd, SITE); \
        if (descriptor_may_block(fd) && !descriptor_operation(kind, &fd, events, SITE)) return -1; \
        return number_used(fd, REAL(name)(fd, parts, count, at, flags)); \
    }
IN_PARTS(preadv2, INSPECT, GET, POLLIN, off_t)
IN_PARTS(preadv64v2, INSPECT, GET, POLLIN, off64_t)
IN_PARTS(pwritev2, SET, PUT, POLLOUT, off_t)
IN_PARTS(pwritev64v2, SET, PUT, POLLOUT, off64_t)

ON_FILE(SET, off_t, lseek, (int fd, off_t offset, int whence), fd, fd, offset, whence)
ON_FILE(SET, off64_t, lseek64, (int fd, off64_t offset, int whence), fd, fd, offset, whence)
ON_FILE(SET, int, ftruncate, (int fd, off_t size), fd, fd, size)
ON_FILE(SET, int, ftruncate64, (int fd, off64_t size), fd, fd, size)
ON_FILE(SET, int, posix_fallocate, (int fd, off_t offset, off_t size), fd, fd, offset, size)
ON_FILE(SET, int, posix_fallocate64, (int fd, off64_t offset, off64_t size), fd, fd, offset, size)
ON_FILE(SET, int, fallocate, (int fd, int mode, off_t offset, off_t size), fd, fd, mode, offset, size)
ON_FILE(SET, int, fallocate64, (int fd, int mode, off64_t offset, off64_t size), fd, fd, mode, offset, size)
ON_FILE(INSPECT, int, fstat, (int fd, struct stat *status), fd, fd, status)
ON_FILE(INSPECT, int, fstat64, (int fd, struct stat64 *status), fd, fd, status)

/* From one file to another, or to a pipe or a socket, which may have no room for all. */
static ssize_t send_file(int to, int from, off64_t *at, size_t count, uint64_t site) {
    file_operation(at ? INSPECT : SET, from, site);
    file_operation(SET, to, site);
    if (!descriptor_may_block(to)) return REAL(sendfile64)(to, from, at, count);
    if (!descriptor_operation(PUT, &to, POLLOUT, site)) return -1;
    /* Programs have to reckon with less than all. */
    size_t piece = descriptor_is_socket(to) || count < PIPE_BUF ? count : PIPE_BUF;
    return descriptor_gave(number_used(to, REAL(sendfile64)(to, from, at, piece)), site);
}

EXPORT ssize_t sendfile(int to, int from, off_t *at, size_t count) {
    CALLED_BY_PROGRAM(sendfile, to, from, at, count);
    return send_file(to, from, at, count, SITE);
}

EXPORT ssize_t sendfile64(int to, int from, off64_t *at, size_t count) {
    CALLED_BY_PROGRAM(sendfile64, to, from, at, count);
    return send_file(to, from, at, count, SITE);
}

EXPORT ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *at_to, size_t count, unsigned flags) {
    CALLED_BY_PROGRAM(copy_file_range, from, at, to, at_to, count, flags);
    file_operation(at ? INSPECT : SET, from, SITE);
    file_operation(SET, to, SITE);
    return REAL(copy_file_range)(from, at, to, at_to, count, flags);
}

/* -- what programs call: names ------------------------------------------------------------------- */

#define LOOKS_UP(name, parameters, folder, path, ...) \
    EXPORT int name parameters { \
        CALLED_BY_PROGRAM(name, __VA_ARGS__); \
        file_name_operation(INSPECT, folder, path, SITE); \
        file_operation_at(INSPECT, folder, path, SITE); \
        return REAL(name)(__VA_ARGS__); \
    }

LOOKS_UP(stat, (const char *path, struct stat *status), AT_FDCWD, path, path, status)
LOOKS_UP(stat64, (const char *path, struct stat64 *status), AT_FDCWD, path, path, status)
LOOKS_UP(lstat, (const char *path, struct stat *status), AT_FDCWD, path, path, status)
LOOKS_UP(lstat64, (const char *path, struct stat64 *status), AT_FDCWD, path, path, status)
LOOKS_UP(fstatat, (int folder, const char *path, struct stat *status, int flags), folder, path, folder,
         path, status, flags)
LOOKS_UP(fstatat64, (int folder, const char *path, struct stat64 *status, int flags), folder, path, folder,
         path, status, flags)

LOOKS_UP(statx, (int folder, const char *path, int flags, unsigned wanted, struct statx *status), folder, path,
         folder, path, flags, wanted, status)

#define ON_NAME(kind, type, name, parameters, folder, path, ...) \
    EXPORT type name parameters { \
        CALLED_BY_PROGRAM(name, __VA_ARGS__); \
        file_name_operation(kind, folder, path, SITE); \
        return REAL(name)(__VA_ARGS__); \
    }

ON_NAME(INSPECT, int, access, (const char *path, int rights), AT_FDCWD, path, path, rights)
ON_NAME(INSPECT, int, faccessat, (int folder, const char *path, int rights, int flags), folder, path, folder, path,
        rights, flags)
ON_NAME(INSPECT, ssize_t, readlink, (const char *path, char *buffer, size_t size), AT_FDCWD, path, path, buffer, size)
ON_NAME(INSPECT, ssize_t, readlinkat, (int folder, const char *path, char *buffer, size_t size), folder, path,
        folder, path, buffer, size)
ON_NAME(SET, int, unlink, (const char *path), AT_FDCWD, path, path)
ON_NAME(SET, int, unlinkat, (int folder, const char *path, int flags), folder, path, folder, path, flags)
ON_NAME(SET, int, remove, (const char *path), AT_FDCWD, path, path)
ON_NAME(SET, int, symlink, (const char *target, const char *path), AT_FDCWD, path, target, path)
ON_NAME(SET, int, symlinkat, (const char *target, int folder, const char *path), folder, path, target, folder, path)
ON_NAME(SET, int, mkdir, (const char *path, mode_t mode), AT_FDCWD, path, path, mode)
ON_NAME(SET, int, mkdirat, (int folder, const char *path, mode_t mode), folder, path, folder, path, mode)
ON_NAME(SET, int, mkfifo, (const char *path, mode_t mode), AT_FDCWD, path, path, mode)
ON_NAME(SET, int, mkfifoat, (int folder, const char *path, mode_t mode), folder, path, folder, path, mode)
ON_NAME(SET, int, rmdir, (const char *path), AT_FDCWD, path, path)

/* One that depends on what two names stand for is two operations. */
EXPORT int rename(const char *old, const char *path) {
    CALLED_BY_PROGRAM(rename, old, path);
    file_name_operation(SET, AT_FDCWD, old, SITE);
    file_name_operation(SET, AT_FDCWD, path, SITE);
    return REAL(rename)(old, path);
}

EXPORT int link(const char *old, const char *path) {
    CALLED_BY_PROGRAM(link, old, path);
    file_name_operation(INSPECT, AT_FDCWD, old, SITE);
    file_name_operation(SET, AT_FDCWD, path, SITE);
    return REAL(link)(old, path);
}

EXPORT int linkat(int old_folder, const char *old, int folder, const char *path, int flags) {
    CALLED_BY_PROGRAM(linkat, old_folder, old, folder, path, flags);
    file_name_operation(INSPECT, old_folder, old, SITE);
    file_name_operation(SET, folder, path, SITE);
    return REAL(linkat)(old_folder, old, folder, path, flags);
}

EXPORT int renameat(int old_folder, const char *old, int folder, const char *path) {
    CALLED_BY_PROGRAM(renameat, old_folder, old, folder, path);
    file_name_operation(SET, old_folder, old, SITE);
    file_name_operation(SET, folder, path, SITE);
    return REAL(renameat)(old_folder, old, folder, path);
}

EXPORT int renameat2(int old_folder, const char *old, int folder, const char *path, unsigned flags) {
    CALLED_BY_PROGRAM(renameat2, old_folder, old, folder, path, flags);
    file_name_operation(SET, old_folder, old, SITE);
    file_name_operation(SET, folder, path, SITE);
    return REAL(renameat2)(old_folder, old, folder, path, flags);
}

#define TRUNCATES(name, ...) \
    { \
        CALLED_BY_PROGRAM(name, __VA_ARGS__); \
        file_name_operation(INSPECT, AT_FDCWD, path, SITE); \
        file_operation_at(SET, AT_FDCWD, path, SITE); \
        return REAL(name)(__VA_ARGS__); \
    }
EXPORT int truncate(const char *path, off_t size) TRUNCATES(truncate, path, size)
EXPORT int truncate64(const char *path, off64_t size) TRUNCATES(truncate64, path, size)

#define CREATES(name) \
    EXPORT int name(const char *path, mode_t mode) { \
        CALLED_BY_PROGRAM(name, path, mode); \
        number_operation(SET, SITE); \
        file_opening(AT_FDCWD, path, O_CREAT | O_TRUNC, SITE); \
        return REAL(name)(path, mode); \
    }
CREATES(creat)
CREATES(creat64)
