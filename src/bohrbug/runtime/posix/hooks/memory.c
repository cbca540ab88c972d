/* The heap and blocks of memory: functions of the C library that stand for accesses.
 *
 * Memory that is allocated is new, whoever had it before: the allocator's own locks, which order
 * the two, can't be seen.
 */
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>

#include "next.h"
#include "shadow.h"
#include "shared_memory.h"
#include "watching.h"

#define EXPORT __attribute__((visibility("default")))
#define PLACE ((uint64_t)(uintptr_t)__builtin_return_address(0))
/* Of a block that is freed so many bytes count as written. */
#define MOST_FREED 1024

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

void heap_allocated(uint64_t address, size_t size, uint64_t site) {
    if (now.epoch) shadow_clear(address, size);
    block_allocated(address, size, site);
}

void heap_freed(uint64_t address, size_t size, uint64_t place, bool is_kept) {
    if (!now.epoch) return;
    if (buffers_stores) control->stores_freed((const void *)(uintptr_t)address, size);
    record(address, size < MOST_FREED ? size : MOST_FREED, WRITE, place);
    if (is_kept) shadow_freed(address, size);
}

static void *allocated(void *block, uint64_t site) {
    if (block && (now.epoch || witnesses_wanted))
        heap_allocated((uint64_t)(uintptr_t)block, malloc_usable_size(block), site);
    return block;
}

static void freed(void *block, uint64_t place) {
    if (!block || !now.epoch || control->task() == NONE) return;
    heap_freed((uint64_t)(uintptr_t)block, malloc_usable_size(block), place, false);
}

/* The library of allocations stands before this one: it is not the program. */
#define CALLER (control ? control->allocation_site() : PLACE)

EXPORT void *malloc(size_t size) { return allocated(__libc_malloc(size), CALLER); }
EXPORT void *calloc(size_t count, size_t size) {
    return allocated(__libc_calloc(count, size), CALLER);
}
EXPORT void *realloc(void *block, size_t size) {
    freed(block, CALLER);
    return allocated(__libc_realloc(block, size), CALLER);
}
EXPORT void *reallocarray(void *block, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    freed(block, CALLER);
    return allocated(__libc_realloc(block, bytes), CALLER);
}
EXPORT void free(void *block) {
    freed(block, CALLER);
    __libc_free(block);
}
EXPORT void *memalign(size_t alignment, size_t size) {
    return allocated(__libc_memalign(alignment, size), CALLER);
}
EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    return allocated(__libc_memalign(alignment, size), CALLER);
}
EXPORT void *valloc(size_t size) { return allocated(__libc_memalign(4096, size), CALLER); }
EXPORT int posix_memalign(void **block, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) || !alignment || alignment & (alignment - 1)) return EINVAL;
    void *memory = allocated(__libc_memalign(alignment, size), CALLER);
    if (!memory) return ENOMEM;
    *block = memory;
    return 0;
}

/* -- of C++: so that what is told of is in the program, and not in its library ------------------ */

#define NEW(name) \
    EXPORT void *name(size_t size) { \
        static void *(*real)(size_t); \
        if (!real) real = (void *(*)(size_t))next(#name); \
        return allocated(real(size), PLACE); \
    }
NEW(_Znwm)
NEW(_Znam)

#define DELETE(name, ...) \
    EXPORT void name(__VA_ARGS__) { \
        if (!block || (control && control->keep(block, malloc_usable_size(block), PLACE))) return; \
        freed(block, PLACE); \
        __libc_free(block); \
    }
DELETE(_ZdlPv, void *block)
DELETE(_ZdaPv, void *block)
DELETE(_ZdlPvm, void *block, size_t size __attribute__((unused)))
DELETE(_ZdaPvm, void *block, size_t size __attribute__((unused)))

/* -- mappings --------------------------------------------------------------------------------- */

EXPORT void *mmap(void *wanted, size_t size, int rights, int flags, int fd, off_t offset) {
    static void *(*real)(void *, size_t, int, int, int, off_t);
    if (!real) real = (void *(*)(void *, size_t, int, int, int, off_t))next("mmap");
    void *memory = real(wanted, size, rights, flags, fd, offset);
    if (memory == MAP_FAILED) return memory;
    if (now.epoch) shadow_clear((uint64_t)(uintptr_t)memory, size);
    if (flags & MAP_SHARED) memory_is_shared(memory, size);
    return memory;
}
EXPORT void *mmap64(void *wanted, size_t size, int rights, int flags, int fd, off64_t offset) {
    return mmap(wanted, size, rights, flags, fd, (off_t)offset);
}
