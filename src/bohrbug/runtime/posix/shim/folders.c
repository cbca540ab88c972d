/* What is in folders: whoever makes a name, or takes one away, changes the folder that it is in; whoever lists it sees
 * that. */
#include "folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "descriptor_numbers.h"
#include "files.h"
#include "real.h"
#include "schedule.h"
#include "trying.h"

/* Of a stream so many entries are operations. */
#define MOST_LISTED 1000

static uint32_t resource_of(const struct stat *status, uint64_t site) {
    return resource_index(resource_named(FILES, key_of_file(status), CONTENT, site));
}

uint32_t folder_of(int folder, const char *path, uint64_t site) {
    char text[PATH_MAX];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    while (length && path[length - 1] != '/') length--;
    if (length >= sizeof text) return NONE;
    memcpy(text, path, length);
    text[length] = 0;
    struct stat status;
    int error = errno;
    bool found = REAL(fstatat)(folder, length ? text : ".", &status, 0) == 0;
    errno = error;
    return found ? resource_of(&status, site) : NONE;
}

/* An entry is read, which moves the position in the stream. */
static void read_entry(DIR *stream, uint64_t site) {
    if (segment->alive_count < 2 || !stream) return;
    struct resource *position = resource_at(stream, STREAM, false, site, NULL);
    struct stat status;
    int error = errno;
    bool found = REAL(fstat)(dirfd(stream), &status) == 0;
    errno = error;
    if (!found || position->value++ >= MOST_LISTED) return;
    uint32_t folder = resource_of(&status, site);
    current->also = resource_index(position);
    perform(INSPECT, folder, site);
}

#define READS_ENTRY(type, name) \
    EXPORT type *name(DIR *stream) { \
        CALLED_BY_PROGRAM(name, stream); \
        read_entry(stream, SITE); \
        return REAL(name)(stream); \
    }
READS_ENTRY(struct dirent, readdir)
READS_ENTRY(struct dirent64, readdir64)

EXPORT void rewinddir(DIR *stream) {
    if (!controlled() || busy) {
        REAL(rewinddir)(stream);
        return;
    }
    GUARD;
    if (segment->alive_count > 1)
        perform(SET, resource_index(resource_at(stream, STREAM, false, SITE, NULL)), SITE);
    REAL(rewinddir)(stream);
}

EXPORT int closedir(DIR *stream) {
    CALLED_BY_PROGRAM(closedir, stream);
    number_operation(SET, SITE);
    resource_forget(stream);
    int fd = dirfd(stream), result = REAL(closedir)(stream);
    return number_closed(fd, result);
}

static void list(const char *path, uint64_t site) {
    struct stat status;
    int error = errno;
    bool found = segment->alive_count > 1 && REAL(fstatat)(AT_FDCWD, path, &status, 0) == 0;
    errno = error;
    if (found) perform(INSPECT, resource_of(&status, site), site);
}

#define LISTS(name, type) \
    EXPORT int name(const char *restrict path, struct type ***restrict entries, int (*selects)(const struct type *), \
                    int (*compares)(const struct type **, const struct type **)) { \
        CALLED_BY_PROGRAM(name, path, entries, selects, compares); \
        list(path, SITE); \
        return REAL(name)(path, entries, selects, compares); \
    }
LISTS(scandir, dirent)
LISTS(scandir64, dirent64)
