/* The heap, as the program calls it; loaded after the shim.  An allocation may fail because a data choice says
 * so, and what is freed is kept for a while, so that the shim knows who uses it all the same. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define SITE ((uint64_t)(uintptr_t)__builtin_return_address(0))

/* In the shim. */
extern bool bohrbug_allocation_fails(uint64_t site);
extern void *bohrbug_reuse(size_t size, uint64_t site);
extern bool bohrbug_keep(void *block, size_t size, uint64_t site);
extern void bohrbug_frees_kept(void *block, const char *what, uint64_t site);

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);

/* Sanitizers that have an allocator of their own: looking their functions up before they are ready would end
 * the program. */
extern void *__interceptor_malloc(size_t size) __attribute__((weak));
extern void *__interceptor_calloc(size_t count, size_t size) __attribute__((weak));
extern void *__interceptor_realloc(void *block, size_t size) __attribute__((weak));
extern void __interceptor_free(void *block) __attribute__((weak));
extern void *__interceptor_aligned_alloc(size_t alignment, size_t size) __attribute__((weak));
extern int __interceptor_posix_memalign(void **block, size_t alignment, size_t size)
    __attribute__((weak));
extern char *__interceptor_strdup(const char *text) __attribute__((weak));

/* Looking a function up may allocate, or free what is left of an error; that must not lead here again. (Volatile, as
 * dlsym is declared not to call back.) */
static __thread volatile bool looking __attribute__((tls_model("initial-exec")));

static void *look_up(const char *name) {
    looking = true;
    void *found = dlsym(RTLD_NEXT, name);
    looking = false;
    return found;
}

static void *allocate(size_t size, uint64_t site) {
    static void *(*real)(size_t);
    if (__interceptor_malloc) return __interceptor_malloc(size);
    if (looking) return __libc_malloc(size);
    if (!real) real = (void *(*)(size_t))look_up("malloc");
    void *kept = bohrbug_reuse(size, site);
    return kept ? kept : real(size);
}

static void release(void *block, uint64_t site) {
    static void (*real)(void *);
    if (__interceptor_free) {
        __interceptor_free(block);
        return;
    }
    if (looking) {
        __libc_free(block);
        return;
    }
    if (!real) real = (void (*)(void *))look_up("free");
    int error = errno;
    if (block && !bohrbug_keep(block, malloc_usable_size(block), site)) real(block);
    errno = error;
}

EXPORT void *malloc(size_t size) {
    if (!looking && bohrbug_allocation_fails(SITE)) return NULL;
    return allocate(size, SITE);
}

EXPORT void free(void *block) { release(block, SITE); }

EXPORT void *calloc(size_t count, size_t size) {
    static void *(*real)(size_t, size_t);
    if (!looking && bohrbug_allocation_fails(SITE)) return NULL;
    if (__interceptor_calloc) return __interceptor_calloc(count, size);
    if (looking) return __libc_calloc(count, size);
    if (!real) real = (void *(*)(size_t, size_t))look_up("calloc");
    size_t bytes;
    void *kept = __builtin_mul_overflow(count, size, &bytes) ? NULL : bohrbug_reuse(bytes, SITE);
    return kept ? memset(kept, 0, bytes) : real(count, size);
}

/* It moves where it grows, as it may anywhere: then what it was is known to be free. */
static void *move(void *block, size_t before, size_t size, uint64_t site) {
    void *other = allocate(size, site);
    if (!other) return NULL;
    memcpy(other, block, before < size ? before : size);
    release(block, site);
    return other;
}

#define MOVED 2048u

EXPORT void *realloc(void *block, size_t size) {
    static void *(*real)(void *, size_t);
    if (!looking && bohrbug_allocation_fails(SITE)) return NULL;
    if (__interceptor_realloc) return __interceptor_realloc(block, size);
    if (looking) return __libc_realloc(block, size);
    if (!real) real = (void *(*)(void *, size_t))look_up("realloc");
    bohrbug_reuse(SIZE_MAX, SITE);
    if (!block || !size) return real(block, size);
    bohrbug_frees_kept(block, "realloc", SITE);
    size_t before = malloc_usable_size(block);
    return size > before && before < MOVED ? move(block, before, size, SITE) : real(block, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    static void *(*real)(size_t, size_t);
    if (!real) real = __interceptor_aligned_alloc;
    if (!real) real = (void *(*)(size_t, size_t))look_up("aligned_alloc");
    return bohrbug_allocation_fails(SITE) ? NULL : real(alignment, size);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size) {
    static int (*real)(void **, size_t, size_t);
    if (!real) real = __interceptor_posix_memalign;
    if (!real) real = (int (*)(void **, size_t, size_t))look_up("posix_memalign");
    return bohrbug_allocation_fails(SITE) ? ENOMEM : real(block, alignment, size);
}

/* What copies a text allocates inside the C library, where it can't be seen. */
EXPORT char *strdup(const char *text) {
    static char *(*real)(const char *);
    if (!real) real = __interceptor_strdup;
    if (!real) real = (char *(*)(const char *))look_up("strdup");
    return bohrbug_allocation_fails(SITE) ? NULL : real(text);
}
