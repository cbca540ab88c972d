/* Allocations that fail because a data choice says so; loaded after the shim, and only where that was asked
 * for, so that all other programs have their own malloc and nothing before it. */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
#define SITE ((uint64_t)(uintptr_t)__builtin_return_address(0))

/* In the shim. */
extern bool bohrbug_allocation_fails(uint64_t site);

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);

/* Looking a function up may allocate; that must not lead here again. */
static __thread bool looking __attribute__((tls_model("initial-exec")));

static void *look_up(const char *name) {
    looking = true;
    void *found = dlsym(RTLD_NEXT, name);
    looking = false;
    return found;
}

EXPORT void *malloc(size_t size) {
    static void *(*real)(size_t);
    if (looking) return __libc_malloc(size);
    if (!real) real = (void *(*)(size_t))look_up("malloc");
    return bohrbug_allocation_fails(SITE) ? NULL : real(size);
}

EXPORT void *calloc(size_t count, size_t size) {
    static void *(*real)(size_t, size_t);
    if (looking) return __libc_calloc(count, size);
    if (!real) real = (void *(*)(size_t, size_t))look_up("calloc");
    return bohrbug_allocation_fails(SITE) ? NULL : real(count, size);
}

EXPORT void *realloc(void *block, size_t size) {
    static void *(*real)(void *, size_t);
    if (looking) return __libc_realloc(block, size);
    if (!real) real = (void *(*)(void *, size_t))look_up("realloc");
    return bohrbug_allocation_fails(SITE) ? NULL : real(block, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    static void *(*real)(size_t, size_t);
    if (!real) real = (void *(*)(size_t, size_t))look_up("aligned_alloc");
    return bohrbug_allocation_fails(SITE) ? NULL : real(alignment, size);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size) {
    static int (*real)(void **, size_t, size_t);
    if (!real) real = (int (*)(void **, size_t, size_t))look_up("posix_memalign");
    return bohrbug_allocation_fails(SITE) ? ENOMEM : real(block, alignment, size);
}

/* What copies a text allocates inside the C library, where it can't be seen. */
EXPORT char *strdup(const char *text) {
    static char *(*real)(const char *);
    if (!real) real = (char *(*)(const char *))look_up("strdup");
    return bohrbug_allocation_fails(SITE) ? NULL : real(text);
}
