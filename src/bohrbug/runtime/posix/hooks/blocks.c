/* Functions of the C library that read and write blocks of bytes and strings, in place of code with hooks.
 *
 * A string is as long as it is once others can come no more before the access; what is done to it then is
 * done by the real function.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "next.h"
#include "shadow.h"
#include "watching.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

static void range(const void *address, size_t size, enum kind kind, const void *caller) {
    if (now.epoch && size && is_instrumented(caller))
        access_slowly((uint64_t)(uintptr_t)address, size, kind, (uint64_t)(uintptr_t)caller);
}

#define REAL_OF(name) \
    static __typeof__(&name) real; \
    if (__builtin_expect(!real, 0)) real = (__typeof__(&name))next(#name)

#define COPIES(name, function) \
    EXPORT void *name(void *target, const void *source, size_t size) { \
        REAL_OF(function); \
        range(source, size, READ, CALLER); \
        range(target, size, WRITE, CALLER); \
        return real(target, source, size); \
    }
#define FILLS(name) \
    EXPORT void *name(void *target, int value, size_t size) { \
        REAL_OF(memset); \
        range(target, size, WRITE, CALLER); \
        return real(target, value, size); \
    }
COPIES(memcpy, memcpy)
COPIES(memmove, memmove)
FILLS(memset)
/* Of clang 15 and newer. */
COPIES(__tsan_memcpy, memcpy)
COPIES(__tsan_memmove, memmove)
FILLS(__tsan_memset)

EXPORT void qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *)) {
    REAL_OF(qsort);
    range(items, count * size, READ, CALLER);
    range(items, count * size, WRITE, CALLER);
    real(items, count, size, compare);
}

/* -- strings ------------------------------------------------------------------------------------ */

static size_t length_of(const char *text) {
    REAL_OF(strlen);
    return real(text);
}

static size_t length_up_to(const char *text, size_t most) {
    REAL_OF(strnlen);
    return real(text, most);
}

/* All of a string, with its end; or as much of it as is looked at. */
static void read_text(const char *text, const void *caller) {
    if (now.epoch && is_instrumented(caller)) range(text, length_of(text) + 1, READ, caller);
}
static void read_up_to(const char *text, size_t most, const void *caller) {
    if (!now.epoch || !is_instrumented(caller)) return;
    size_t length = length_up_to(text, most);
    range(text, length < most ? length + 1 : most, READ, caller);
}

#define READS_TEXT(type, name, parameters, ...) \
    EXPORT type name parameters { \
        REAL_OF(name); \
        read_text(text, CALLER); \
        return real(__VA_ARGS__); \
    }
READS_TEXT(size_t, strlen, (const char *text), text)
READS_TEXT(char *, strdup, (const char *text), text)
READS_TEXT(int, atoi, (const char *text), text)
READS_TEXT(long, atol, (const char *text), text)

EXPORT size_t strnlen(const char *text, size_t most) {
    read_up_to(text, most, CALLER);
    return length_up_to(text, most);
}

/* Of what stands behind a character that is found, nothing is read. */
static void read_to_character(const char *text, int character, const void *caller) {
    if (!now.epoch || !is_instrumented(caller)) return;
    size_t length = 0;
    while (text[length] && text[length] != (char)character) length++;
    range(text, length + 1, READ, caller);
}

EXPORT char *strchr(const char *text, int character) {
    REAL_OF(strchr);
    read_to_character(text, character, CALLER);
    return real(text, character);
}
EXPORT char *strrchr(const char *text, int character) {
    REAL_OF(strrchr);
    read_text(text, CALLER);
    return real(text, character);
}
EXPORT char *strstr(const char *text, const char *part) {
    REAL_OF(strstr);
    read_text(text, CALLER);
    read_text(part, CALLER);
    return real(text, part);
}

/* As far as they are alike, and the first difference. */
static void read_alike(const char *one, const char *other, size_t most, const void *caller) {
    if (!now.epoch || !is_instrumented(caller)) return;
    size_t length = 0;
    while (length < most && one[length] == other[length] && one[length]) length++;
    if (length < most) length++;
    range(one, length, READ, caller);
    range(other, length, READ, caller);
}

EXPORT int strcmp(const char *one, const char *other) {
    REAL_OF(strcmp);
    read_alike(one, other, SIZE_MAX, CALLER);
    return real(one, other);
}
EXPORT int strncmp(const char *one, const char *other, size_t most) {
    REAL_OF(strncmp);
    read_alike(one, other, most, CALLER);
    return real(one, other, most);
}
EXPORT int strcasecmp(const char *one, const char *other) {
    REAL_OF(strcasecmp);
    read_text(one, CALLER);
    read_text(other, CALLER);
    return real(one, other);
}
EXPORT int memcmp(const void *one, const void *other, size_t size) {
    REAL_OF(memcmp);
    range(one, size, READ, CALLER);
    range(other, size, READ, CALLER);
    return real(one, other, size);
}
EXPORT void *memchr(const void *memory, int byte, size_t size) {
    REAL_OF(memchr);
    void *found = real(memory, byte, size);
    range(memory, found ? (size_t)((char *)found - (const char *)memory) + 1 : size, READ, CALLER);
    return real(memory, byte, size);
}

#define COPIES_TEXT(name) \
    EXPORT char *name(char *restrict target, const char *restrict text) { \
        REAL_OF(name); \
        read_text(text, CALLER); \
        if (now.epoch) range(target, length_of(text) + 1, WRITE, CALLER); \
        return real(target, text); \
    }
COPIES_TEXT(strcpy)
COPIES_TEXT(stpcpy)

EXPORT char *strncpy(char *restrict target, const char *restrict text, size_t size) {
    REAL_OF(strncpy);
    read_up_to(text, size, CALLER);
    range(target, size, WRITE, CALLER);
    return real(target, text, size);
}
EXPORT char *strcat(char *restrict target, const char *restrict text) {
    REAL_OF(strcat);
    read_text(text, CALLER);
    read_text(target, CALLER);
    if (now.epoch) range(target + length_of(target), length_of(text) + 1, WRITE, CALLER);
    return real(target, text);
}
EXPORT char *strncat(char *restrict target, const char *restrict text, size_t most) {
    REAL_OF(strncat);
    read_up_to(text, most, CALLER);
    read_text(target, CALLER);
    if (now.epoch) range(target + length_of(target), length_up_to(text, most) + 1, WRITE, CALLER);
    return real(target, text, most);
}

/* -- formatted text ------------------------------------------------------------------------------ */

/* How long the text will be is asked for first, so that others can come before it is written. */
static void write_formatted(char *target, size_t size, const char *format, va_list arguments,
                            const void *caller) {
    REAL_OF(vsnprintf);
    if (!now.epoch || !size || !is_instrumented(caller)) return;
    va_list again;
    va_copy(again, arguments);
    int length = real(NULL, 0, format, again);
    va_end(again);
    if (length >= 0) range(target, (size_t)length < size ? (size_t)length + 1 : size, WRITE, caller);
}

EXPORT int vsnprintf(char *restrict target, size_t size, const char *restrict format, va_list arguments) {
    REAL_OF(vsnprintf);
    write_formatted(target, size, format, arguments, CALLER);
    return real(target, size, format, arguments);
}
EXPORT int vsprintf(char *restrict target, const char *restrict format, va_list arguments) {
    REAL_OF(vsprintf);
    write_formatted(target, SIZE_MAX, format, arguments, CALLER);
    return real(target, format, arguments);
}
EXPORT int snprintf(char *restrict target, size_t size, const char *restrict format, ...) {
    REAL_OF(vsnprintf);
    va_list arguments;
    va_start(arguments, format);
    write_formatted(target, size, format, arguments, CALLER);
    int length = real(target, size, format, arguments);
    va_end(arguments);
    return length;
}
EXPORT int sprintf(char *restrict target, const char *restrict format, ...) {
    REAL_OF(vsprintf);
    va_list arguments;
    va_start(arguments, format);
    write_formatted(target, SIZE_MAX, format, arguments, CALLER);
    int length = real(target, format, arguments);
    va_end(arguments);
    return length;
}
