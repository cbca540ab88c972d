/* Streams that tasks share.  Each call is one operation, as it holds the lock of the stream; `flockfile` makes
 * several calls one.  What is printed on standard output and standard error is none: it is compared, if at
 * all, at the end. */
#include "file_streams.h"

#include <errno.h>
#include <sys/stat.h>

#include "descriptors.h"
#include "files.h"
#include "real.h"
#include "trying.h"

/* Of a stream so many functions that take a character are operations: files are read that way, too. */
#define MOST_CHARACTERS 1000

static int number_of(FILE *stream) {
    int error = errno;
    int fd = stream ? fileno(stream) : -1;
    errno = error;
    return fd;
}

static bool is_held_by_other(const struct resource *resource) {
    return resource->owner.task != NONE && resource->owner.task != index_of(current);
}

/* The task takes the lock of the stream, if only for one call: somebody else may hold it by then. */
static void take_lock(struct resource *resource, uint64_t site) {
    bool is_mine = resource->owner.task == index_of(current);
    perform_when(ACQUIRE, resource_index(resource), site,
                 (struct waiting){is_mine ? ALWAYS : UNHELD, 0, NO_DEADLINE, false, false});
}

/* What is written to the stream reaches its file, where others may see it. */
static void note_file(int fd, uint64_t site) {
    struct stat status;
    int error = errno;
    if (fd >= 0 && REAL(fstat)(fd, &status) == 0 && S_ISREG(status.st_mode))
        current->also = resource_index(resource_named(FILES, key_of_file(&status), CONTENT, site));
    errno = error;
}

bool stream_may_block(FILE *stream, enum part part, uint64_t site) {
    if (!controlled() || !stream) return false;
    int fd = number_of(stream);
    if (fd >= 0 && descriptor_may_block(fd)) return true;
    if (busy || segment->alive_count < 2) return false;
    GUARD;
    struct resource *resource = resource_known(stream, STREAM);
    bool waits = part != UNLOCKED_CALL && resource && is_held_by_other(resource);
    bool is_operation = stream != stdout && stream != stderr;
    if (!waits && !is_operation) return false;
    if (!resource) resource = resource_at(stream, STREAM, false, site, NULL);
    if (part == CHARACTER && !waits && resource->value++ >= MOST_CHARACTERS) return false;
    if (is_operation) note_file(fd, site);
    if (part == UNLOCKED_CALL) perform(SET, resource_index(resource), site);
    else take_lock(resource, site);
    return false;
}

long stream_gave(bool may_have, long result, uint64_t site) {
    if (!may_have) return result;
    GUARD;
    return descriptor_gave(0, site), result;
}

/* -- the lock of a stream -------------------------------------------------------------------------- */

EXPORT void flockfile(FILE *stream) {
    if (!controlled() || busy) {
        REAL(flockfile)(stream);
        return;
    }
    GUARD;
    struct resource *resource = resource_at(stream, STREAM, false, SITE, NULL);
    take_lock(resource, SITE);
    REAL(flockfile)(stream);
    resource_take(resource, SITE);
    resource->count++;
}

EXPORT int ftrylockfile(FILE *stream) {
    CALLED_BY_PROGRAM(ftrylockfile, stream);
    struct resource *resource = resource_at(stream, STREAM, false, SITE, NULL);
    perform(TRY_ACQUIRE, resource_index(resource), SITE);
    if (is_held_by_other(resource)) return -1;
    int result = REAL(ftrylockfile)(stream);
    if (result) return result;
    resource_take(resource, SITE);
    resource->count++;
    return 0;
}

EXPORT void funlockfile(FILE *stream) {
    if (!controlled() || busy) {
        REAL(funlockfile)(stream);
        return;
    }
    GUARD;
    struct resource *resource = resource_at(stream, STREAM, false, SITE, NULL);
    perform(RELEASE, resource_index(resource), SITE);
    REAL(funlockfile)(stream);
    if (resource->count && --resource->count) return;
    resource_release(resource);
    after_release(resource_index(resource), SITE);
}

/* -- where a stream stands ------------------------------------------------------------------------- */

#define PART_OF_STREAM(part, type, name, parameters, ...) \
    EXPORT type name parameters { \
        stream_may_block(stream, part, SITE); \
        return REAL(name)(__VA_ARGS__); \
    }
#define ON_STREAM(...) PART_OF_STREAM(WHOLE_CALL, __VA_ARGS__)

ON_STREAM(int, fseek, (FILE *stream, long offset, int whence), stream, offset, whence)
ON_STREAM(int, fseeko, (FILE *stream, off_t offset, int whence), stream, offset, whence)
ON_STREAM(int, fseeko64, (FILE *stream, off64_t offset, int whence), stream, offset, whence)
ON_STREAM(long, ftell, (FILE *stream), stream)
ON_STREAM(off_t, ftello, (FILE *stream), stream)
ON_STREAM(off64_t, ftello64, (FILE *stream), stream)
ON_STREAM(int, fgetpos, (FILE *stream, fpos_t *position), stream, position)
ON_STREAM(int, fgetpos64, (FILE *stream, fpos64_t *position), stream, position)
ON_STREAM(int, fsetpos, (FILE *stream, const fpos_t *position), stream, position)
ON_STREAM(int, fsetpos64, (FILE *stream, const fpos64_t *position), stream, position)
PART_OF_STREAM(CHARACTER, int, ungetc, (int character, FILE *stream), character, stream)
PART_OF_STREAM(CHARACTER, wint_t, ungetwc, (wint_t character, FILE *stream), character, stream)

EXPORT void rewind(FILE *stream) {
    stream_may_block(stream, WHOLE_CALL, SITE);
    REAL(rewind)(stream);
}
