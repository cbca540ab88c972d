/* Streams of wide characters: what streams.c and output.c do for bytes. */
/* Else the headers define some of what is defined here, inline, and clang leaves ours hidden. */
#ifndef __NO_INLINE__
#define __NO_INLINE__
#endif

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>

#include "descriptors.h"
#include "file_streams.h"
#include "real.h"

#undef getwchar
#undef putwchar

/* How the C library's own begins, which has had that layout since there are wide streams. */
struct wide_data {
    wchar_t *read_ptr, *read_end;
};

static bool has_characters(const FILE *stream) {
    const struct wide_data *data = (const void *)stream->_wide_data;
    return (data && data->read_ptr < data->read_end) || stream->_IO_read_ptr < stream->_IO_read_end;
}

/* -- reading -------------------------------------------------------------------------------------- */

static wint_t next(FILE *stream, uint64_t site) {
    if (has_characters(stream)) return REAL(fgetwc)(stream);
    descriptor_stream(GET, fileno(stream), POLLIN, site);
    wint_t character = REAL(fgetwc)(stream);
    descriptor_took(0, site);
    return character;
}

#define READS_A_CHARACTER(name) \
    EXPORT wint_t name(FILE *stream) { \
        if (!stream_may_block(stream, CHARACTER, SITE)) return REAL(name)(stream); \
        GUARD; \
        return next(stream, SITE); \
    }

READS_A_CHARACTER(fgetwc)
READS_A_CHARACTER(getwc)
READS_A_CHARACTER(fgetwc_unlocked)

EXPORT wint_t getwchar(void) {
    if (!stream_may_block(stdin, CHARACTER, SITE)) return REAL(getwchar)();
    GUARD;
    return next(stdin, SITE);
}

EXPORT wchar_t *fgetws(wchar_t *restrict text, int size, FILE *restrict stream) {
    if (!stream_may_block(stream, WHOLE_CALL, SITE)) return REAL(fgetws)(text, size, stream);
    GUARD;
    int length = 0;
    while (length < size - 1) {
        wint_t character = next(stream, SITE);
        if (character == WEOF) break;
        text[length++] = (wchar_t)character;
        if (character == L'\n') break;
    }
    if (length == 0 || ferror(stream)) return NULL;
    text[length] = 0;
    return text;
}

/* -- writing: how much the buffer takes is not known ------------------------------------------------ */

static bool before_writing(FILE *stream, enum part part, uint64_t site) {
    if (!stream_may_block(stream, part, site)) return false;
    GUARD;
    descriptor_stream(PUT, fileno(stream), POLLOUT, site);
    return true;
}

#define WRITES_A_CHARACTER(name) \
    EXPORT wint_t name(wchar_t character, FILE *stream) { \
        bool gives = before_writing(stream, CHARACTER, SITE); \
        return (wint_t)stream_gave(gives, REAL(name)(character, stream), SITE); \
    }

WRITES_A_CHARACTER(fputwc)
WRITES_A_CHARACTER(putwc)
WRITES_A_CHARACTER(fputwc_unlocked)

EXPORT wint_t putwchar(wchar_t character) {
    bool gives = before_writing(stdout, CHARACTER, SITE);
    return (wint_t)stream_gave(gives, REAL(putwchar)(character), SITE);
}

EXPORT int fputws(const wchar_t *restrict text, FILE *restrict stream) {
    bool gives = before_writing(stream, WHOLE_CALL, SITE);
    return (int)stream_gave(gives, REAL(fputws)(text, stream), SITE);
}

EXPORT int vfwprintf(FILE *restrict stream, const wchar_t *restrict format, va_list arguments) {
    bool gives = before_writing(stream, WHOLE_CALL, SITE);
    return (int)stream_gave(gives, REAL(vfwprintf)(stream, format, arguments), SITE);
}

EXPORT int __vfwprintf_chk(FILE *restrict stream, int flag, const wchar_t *restrict format, va_list arguments) {
    bool gives = before_writing(stream, WHOLE_CALL, SITE);
    return (int)stream_gave(gives, REAL(__vfwprintf_chk)(stream, flag, format, arguments), SITE);
}

#define FORMATS(stream, call) \
    va_list arguments; \
    bool gives = before_writing(stream, WHOLE_CALL, SITE); \
    va_start(arguments, format); \
    int result = call; \
    va_end(arguments); \
    return (int)stream_gave(gives, result, SITE)

EXPORT int fwprintf(FILE *restrict stream, const wchar_t *restrict format, ...) {
    FORMATS(stream, REAL(vfwprintf)(stream, format, arguments));
}

EXPORT int __fwprintf_chk(FILE *restrict stream, int flag, const wchar_t *restrict format, ...) {
    FORMATS(stream, REAL(__vfwprintf_chk)(stream, flag, format, arguments));
}

EXPORT int wprintf(const wchar_t *restrict format, ...) {
    FORMATS(stdout, REAL(vfwprintf)(stdout, format, arguments));
}

EXPORT int __wprintf_chk(int flag, const wchar_t *restrict format, ...) {
    FORMATS(stdout, REAL(__vfwprintf_chk)(stdout, flag, format, arguments));
}
