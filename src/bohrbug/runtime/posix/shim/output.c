/* Streams that write to pipes and sockets: before the C library empties a buffer there has to be
 * room on the other side, and it is a scheduling point. */
/* Else the headers define some of what is defined here, inline, and clang leaves ours hidden. */
#ifndef __NO_INLINE__
#define __NO_INLINE__
#endif

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "descriptor_numbers.h"
#include "descriptors.h"
#include "file_streams.h"
#include "process.h"
#include "real.h"

#undef fwrite_unlocked
#undef fputc_unlocked
#undef putc
#undef putchar
#undef putc_unlocked

/* glibc's _IO_UNBUFFERED and _IO_LINE_BUF. */
#define NOT_FULLY_BUFFERED (0x0002 | 0x0200)
/* More than most calls of printf write. */
#define FORMATTED 1024

/* Waits if writing so many bytes may empty the buffer; whether it may. */
static bool make_room(FILE *stream, size_t bytes, uint64_t site) {
    size_t room = (size_t)(stream->_IO_buf_end - stream->_IO_write_ptr);
    bool fits = stream->_IO_write_ptr && stream->_IO_buf_end > stream->_IO_write_ptr &&
                room > bytes && !(stream->_flags & NOT_FULLY_BUFFERED);
    if (!fits) descriptor_stream(PUT, fileno(stream), POLLOUT, site);
    return !fits;
}

static bool make_room_to_flush(FILE *stream, uint64_t site) {
    bool holds = stream->_IO_write_ptr > stream->_IO_write_base;
    if (holds) descriptor_stream(PUT, fileno(stream), POLLOUT, site);
    return holds;
}

/* A pipe that is ready takes so much without blocking. */
static size_t write_items(const void *buffer, size_t size, size_t count, FILE *stream,
                          uint64_t site) {
    size_t wanted = size * count, written = 0;
    bool empties = false;
    while (written < wanted) {
        size_t piece = wanted - written < PIPE_BUF / 2 ? wanted - written : PIPE_BUF / 2;
        empties |= make_room(stream, piece, site);
        size_t done = REAL(fwrite)((const char *)buffer + written, 1, piece, stream);
        written += done;
        if (done < piece) break;
    }
    if (empties) descriptor_gave(0, site);
    return size ? written / size : 0;
}

#define WRITES_ITEMS(name, part) \
    EXPORT size_t name(const void *restrict buffer, size_t size, size_t count, \
                       FILE *restrict stream) { \
        if (!stream_may_block(stream, part, SITE)) return REAL(name)(buffer, size, count, stream); \
        GUARD; \
        return write_items(buffer, size, count, stream, SITE); \
    }

WRITES_ITEMS(fwrite, WHOLE_CALL)
WRITES_ITEMS(fwrite_unlocked, UNLOCKED_CALL)

#define WRITES_TEXT(name, part) \
    EXPORT int name(const char *restrict text, FILE *restrict stream) { \
        if (!stream_may_block(stream, part, SITE)) return REAL(name)(text, stream); \
        GUARD; \
        size_t length = strlen(text); \
        return write_items(text, 1, length, stream, SITE) == length ? 1 : EOF; \
    }

WRITES_TEXT(fputs, WHOLE_CALL)
WRITES_TEXT(fputs_unlocked, UNLOCKED_CALL)

EXPORT int puts(const char *text) {
    if (!stream_may_block(stdout, WHOLE_CALL, SITE)) return REAL(puts)(text);
    GUARD;
    size_t length = strlen(text);
    return write_items(text, 1, length, stdout, SITE) == length &&
                   write_items("\n", 1, 1, stdout, SITE) == 1
               ? 1
               : EOF;
}

#define WRITES_A_CHARACTER(name) \
    EXPORT int name(int character, FILE *stream) { \
        bool empties = false; \
        if (stream_may_block(stream, CHARACTER, SITE)) { \
            GUARD; \
            empties = make_room(stream, 1, SITE); \
        } \
        return (int)stream_gave(empties, REAL(name)(character, stream), SITE); \
    }

WRITES_A_CHARACTER(fputc)
WRITES_A_CHARACTER(putc)
WRITES_A_CHARACTER(fputc_unlocked)
WRITES_A_CHARACTER(putc_unlocked)

EXPORT int __overflow(FILE *stream, int character) {
    bool empties = false;
    if (stream_may_block(stream, CHARACTER, SITE)) {
        GUARD;
        empties = make_room_to_flush(stream, SITE);
    }
    return (int)stream_gave(empties, REAL(__overflow)(stream, character), SITE);
}

EXPORT int putchar(int character) {
    bool empties = false;
    if (stream_may_block(stdout, CHARACTER, SITE)) {
        GUARD;
        empties = make_room(stdout, 1, SITE);
    }
    return (int)stream_gave(empties, REAL(putchar)(character), SITE);
}

/* -- formatted output -------------------------------------------------------------------- */

static bool before_format(FILE *stream, uint64_t site) {
    if (!stream_may_block(stream, WHOLE_CALL, site)) return false;
    GUARD;
    return make_room(stream, FORMATTED, site);
}

EXPORT int vfprintf(FILE *restrict stream, const char *restrict format, va_list arguments) {
    bool empties = before_format(stream, SITE);
    return (int)stream_gave(empties, REAL(vfprintf)(stream, format, arguments), SITE);
}

EXPORT int vprintf(const char *restrict format, va_list arguments) {
    bool empties = before_format(stdout, SITE);
    return (int)stream_gave(empties, REAL(vfprintf)(stdout, format, arguments), SITE);
}

EXPORT int __vfprintf_chk(FILE *restrict stream, int flag, const char *restrict format,
                          va_list arguments) {
    bool empties = before_format(stream, SITE);
    return (int)stream_gave(empties, REAL(__vfprintf_chk)(stream, flag, format, arguments), SITE);
}

#define FORMATS(stream, call) \
    va_list arguments; \
    bool empties = before_format(stream, SITE); \
    va_start(arguments, format); \
    int result = call; \
    va_end(arguments); \
    return (int)stream_gave(empties, result, SITE)

EXPORT int printf(const char *restrict format, ...) {
    FORMATS(stdout, REAL(vfprintf)(stdout, format, arguments));
}

EXPORT int fprintf(FILE *restrict stream, const char *restrict format, ...) {
    FORMATS(stream, REAL(vfprintf)(stream, format, arguments));
}

EXPORT int __printf_chk(int flag, const char *restrict format, ...) {
    FORMATS(stdout, REAL(__vfprintf_chk)(stdout, flag, format, arguments));
}

EXPORT int __fprintf_chk(FILE *restrict stream, int flag, const char *restrict format, ...) {
    FORMATS(stream, REAL(__vfprintf_chk)(stream, flag, format, arguments));
}

/* -- emptying buffers ------------------------------------------------------------------------ */

#define FLUSHES(name, part) \
    EXPORT int name(FILE *stream) { \
        bool empties = false; \
        if (stream_may_block(stream, part, SITE)) { \
            GUARD; \
            empties = make_room_to_flush(stream, SITE); \
        } \
        return (int)stream_gave(empties, REAL(name)(stream), SITE); \
    }

FLUSHES(fflush, WHOLE_CALL)
FLUSHES(fflush_unlocked, UNLOCKED_CALL)

EXPORT int fclose(FILE *stream) {
    bool empties = stream_may_block(stream, WHOLE_CALL, SITE);
    if (empties) {
        GUARD;
        make_room_to_flush(stream, SITE);
        descriptor_change(fileno(stream), SITE);
    }
    if (!controlled()) return REAL(fclose)(stream);
    if (segment->numbers_matter) {
        GUARD;
        number_operation(SET, SITE);
    }
    resource_forget(stream);
    popened_closes(stream);
    /* Not busy: streams can be made of functions of the program. */
    int fd = fileno(stream), result = REAL(fclose)(stream);
    return (int)stream_gave(empties, number_closed(fd, result), SITE);
}
