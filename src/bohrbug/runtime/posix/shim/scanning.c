/* Formatted input.  Of a file it is one operation.  Of a pipe or a socket nobody knows how much of it a format takes:
 * it is tried on a copy of what is there, and as long as it comes to the end of that, more is waited for. */
#ifndef __NO_INLINE__
#define __NO_INLINE__
#endif

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>

#include "descriptors.h"
#include "file_streams.h"
#include "real.h"

typedef int scanner(FILE *restrict stream, const char *restrict format, va_list arguments);

static size_t buffered(const FILE *stream) { return (size_t)(stream->_IO_read_end - stream->_IO_read_ptr); }

/* Whether the format can be read from what is there.  What it stores is stored again later. */
static bool is_enough(scanner *scan, FILE *stream, const char *format, va_list arguments) {
    if (!buffered(stream)) return false;
    inside++;
    FILE *copy = fmemopen(stream->_IO_read_ptr, buffered(stream), "r");
    va_list again;
    va_copy(again, arguments);
    bool enough = copy && scan(copy, format, again) != EOF && !feof(copy);
    va_end(again);
    if (copy) REAL(fclose)(copy);
    inside--;
    return enough;
}

/* Whether more has come, which is then in the buffer; where there is no room, nothing comes. */
static bool gets_more(FILE *stream, uint64_t site) {
    descriptor_stream(GET, fileno(stream), POLLIN, site);
    if (!buffered(stream)) return REAL(__underflow)(stream) != EOF;
    size_t room = (size_t)(stream->_IO_buf_end - stream->_IO_read_end);
    ssize_t size = room ? REAL(read)(fileno(stream), stream->_IO_read_end, room) : 0;
    if (size > 0) stream->_IO_read_end += size;
    return size > 0;
}

static int scan_with(scanner *scan, FILE *stream, const char *format, va_list arguments, uint64_t site) {
    if (!stream_may_block(stream, WHOLE_CALL, site)) return scan(stream, format, arguments);
    GUARD;
    while (!is_enough(scan, stream, format, arguments) && gets_more(stream, site)) continue;
    return scan(stream, format, arguments);
}

#define SCANS(prefix) \
    EXPORT int prefix##vfscanf(FILE *restrict stream, const char *restrict format, va_list arguments) { \
        return scan_with(REAL(prefix##vfscanf), stream, format, arguments, SITE); \
    } \
    EXPORT int prefix##vscanf(const char *restrict format, va_list arguments) { \
        return scan_with(REAL(prefix##vfscanf), stdin, format, arguments, SITE); \
    } \
    EXPORT int prefix##fscanf(FILE *restrict stream, const char *restrict format, ...) { \
        va_list arguments; \
        va_start(arguments, format); \
        int result = scan_with(REAL(prefix##vfscanf), stream, format, arguments, SITE); \
        va_end(arguments); \
        return result; \
    } \
    EXPORT int prefix##scanf(const char *restrict format, ...) { \
        va_list arguments; \
        va_start(arguments, format); \
        int result = scan_with(REAL(prefix##vfscanf), stdin, format, arguments, SITE); \
        va_end(arguments); \
        return result; \
    }

/* What headers call them; the names in the standard are of older programs. */
SCANS(__isoc99_)
#if __GLIBC_PREREQ(2, 38)
SCANS(__isoc23_)
#endif
