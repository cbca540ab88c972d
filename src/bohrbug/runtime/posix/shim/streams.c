/* Streams on pipes and sockets: the C library reads into their buffers by ways that can't be
 * interposed on, so each reading function waits first where the buffer is empty. */
/* Else the headers define some of what is defined here, inline, and clang leaves ours hidden. */
#ifndef __NO_INLINE__
#define __NO_INLINE__
#endif

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "descriptors.h"
#include "file_streams.h"
#include "real.h"

/* Macros where the compiler optimises. */
#undef fread_unlocked
#undef fgetc_unlocked
#undef getc

static size_t buffered(FILE *stream) {
    return (size_t)(stream->_IO_read_end - stream->_IO_read_ptr);
}

/* The next character; the buffer is filled by one read that does not block. */
static int next(FILE *stream, uint64_t site) {
    if (buffered(stream)) return (unsigned char)*stream->_IO_read_ptr++;
    descriptor_stream(GET, fileno(stream), POLLIN, site);
    return (int)descriptor_took(REAL(__uflow)(stream), site);
}

static size_t read_items(void *buffer, size_t size, size_t count, FILE *stream, uint64_t site) {
    char *bytes = buffer;
    size_t wanted = size * count, got = 0;
    while (got < wanted) {
        size_t ready = buffered(stream);
        if (ready) {
            size_t piece = ready < wanted - got ? ready : wanted - got;
            memcpy(bytes + got, stream->_IO_read_ptr, piece);
            stream->_IO_read_ptr += piece;
            got += piece;
            continue;
        }
        int character = next(stream, site);
        if (character == EOF) break;
        bytes[got++] = (char)character;
    }
    return size ? got / size : 0;
}

static char *read_line(char *text, int size, FILE *stream, uint64_t site) {
    int length = 0;
    while (length < size - 1) {
        int character = next(stream, site);
        if (character == EOF) break;
        text[length++] = (char)character;
        if (character == '\n') break;
    }
    if (length == 0 || ferror(stream)) return NULL;
    text[length] = 0;
    return text;
}

static ssize_t read_until(char **line, size_t *size, int delimiter, FILE *stream, uint64_t site) {
    size_t length = 0;
    for (;;) {
        if (!*line || *size < length + 2) {
            size_t larger = *line ? 2 * *size : 120;
            char *again = realloc(*line, larger < 120 ? 120 : larger);
            if (!again) return -1;
            *line = again;
            *size = larger < 120 ? 120 : larger;
        }
        int character = next(stream, site);
        if (character == EOF) break;
        (*line)[length++] = (char)character;
        if (character == delimiter) break;
    }
    if (length == 0) return -1;
    (*line)[length] = 0;
    return (ssize_t)length;
}

EXPORT int __uflow(FILE *stream) {
    if (!stream_may_block(stream, CHARACTER, SITE)) return REAL(__uflow)(stream);
    GUARD;
    return next(stream, SITE);
}

EXPORT int __underflow(FILE *stream) {
    if (!stream_may_block(stream, CHARACTER, SITE) || buffered(stream)) return REAL(__underflow)(stream);
    GUARD;
    descriptor_stream(GET, fileno(stream), POLLIN, SITE);
    return (int)descriptor_took(REAL(__underflow)(stream), SITE);
}

#define READS_A_CHARACTER(name) \
    EXPORT int name(FILE *stream) { \
        if (!stream_may_block(stream, CHARACTER, SITE)) return REAL(name)(stream); \
        GUARD; \
        return next(stream, SITE); \
    }

READS_A_CHARACTER(fgetc)
READS_A_CHARACTER(getc)
READS_A_CHARACTER(fgetc_unlocked)

#define READS_A_LINE(name, part) \
    EXPORT char *name(char *restrict text, int size, FILE *restrict stream) { \
        if (!stream_may_block(stream, part, SITE)) return REAL(name)(text, size, stream); \
        GUARD; \
        return read_line(text, size, stream, SITE); \
    }

READS_A_LINE(fgets, WHOLE_CALL)
READS_A_LINE(fgets_unlocked, UNLOCKED_CALL)

#define READS_A_LINE_CHECKED(name, part) \
    EXPORT char *name(char *restrict text, size_t room, int size, FILE *restrict stream) { \
        bool fits = size > 0 && (size_t)size <= room; \
        if (!fits || !stream_may_block(stream, part, SITE)) return REAL(name)(text, room, size, stream); \
        GUARD; \
        return read_line(text, size, stream, SITE); \
    }

READS_A_LINE_CHECKED(__fgets_chk, WHOLE_CALL)
READS_A_LINE_CHECKED(__fgets_unlocked_chk, UNLOCKED_CALL)

#define READS_ITEMS(name, part) \
    EXPORT size_t name(void *restrict buffer, size_t size, size_t count, \
                       FILE *restrict stream) { \
        if (!stream_may_block(stream, part, SITE)) return REAL(name)(buffer, size, count, stream); \
        GUARD; \
        return read_items(buffer, size, count, stream, SITE); \
    }

READS_ITEMS(fread, WHOLE_CALL)
READS_ITEMS(fread_unlocked, UNLOCKED_CALL)

#define READS_ITEMS_CHECKED(name, part) \
    EXPORT size_t name(void *restrict buffer, size_t room, size_t size, size_t count, FILE *restrict stream) { \
        bool fits = !size || count <= room / size; \
        if (!fits || !stream_may_block(stream, part, SITE)) \
            return REAL(name)(buffer, room, size, count, stream); \
        GUARD; \
        return read_items(buffer, size, count, stream, SITE); \
    }

READS_ITEMS_CHECKED(__fread_chk, WHOLE_CALL)
READS_ITEMS_CHECKED(__fread_unlocked_chk, UNLOCKED_CALL)

#define READS_UNTIL(name, part) \
    EXPORT ssize_t name(char **restrict line, size_t *restrict size, int delimiter, \
                        FILE *restrict stream) { \
        if (!stream_may_block(stream, part, SITE)) return REAL(name)(line, size, delimiter, stream); \
        GUARD; \
        return read_until(line, size, delimiter, stream, SITE); \
    }

READS_UNTIL(getdelim, WHOLE_CALL)
READS_UNTIL(__getdelim, WHOLE_CALL)

EXPORT ssize_t getline(char **restrict line, size_t *restrict size, FILE *restrict stream) {
    if (!stream_may_block(stream, WHOLE_CALL, SITE)) return REAL(getline)(line, size, stream);
    GUARD;
    return read_until(line, size, '\n', stream, SITE);
}
