/* Mappings of memory: what lies there, and who may access it, can change just before a task does. */
#include <stdarg.h>
#include <sys/mman.h>

#include "accesses.h"
#include "process_state.h"
#include "real.h"
#include "task.h"

/* Of a range so many bytes count as accessed: more would take as long as to write them. */
#define MOST_WATCHED ((size_t)64 << 10)

static size_t watched(size_t size) { return size < MOST_WATCHED ? size : MOST_WATCHED; }

/* What a range holds is gone.  An allocator without hooks has its own order for that, which may not be seen. */
static void loses_content(void *memory, size_t size, uint64_t site) {
    touched(memory, (ssize_t)watched(size), WRITE, site);
}

/* ... and the range itself, so that no store that waits in a buffer can reach it. */
static void vanishes(void *memory, size_t size, uint64_t site) {
    if (hooks) hooks->freed((uint64_t)(uintptr_t)memory, size, site, false);
    loses_content(memory, size, site);
}

/* Who takes rights away is in conflict with the accesses that need them. */
static void loses_rights(void *memory, size_t size, int rights, uint64_t site) {
    if (!(rights & PROT_READ)) touched(memory, (ssize_t)watched(size), WRITE, site);
    else if (!(rights & PROT_WRITE)) touched(memory, (ssize_t)watched(size), READ, site);
}

static bool in_shared_memory(const void *memory) {
    return hooks && hooks->is_shared((uint64_t)(uintptr_t)memory);
}

EXPORT int mprotect(void *memory, size_t size, int rights) {
    CALLED_BY_PROGRAM(mprotect, memory, size, rights);
    process_state_operation(SET, MAPPINGS, SITE);
    loses_rights(memory, size, rights, SITE);
    return REAL(mprotect)(memory, size, rights);
}

EXPORT int munmap(void *memory, size_t size) {
    CALLED_BY_PROGRAM(munmap, memory, size);
    process_state_operation(SET, MAPPINGS, SITE);
    vanishes(memory, size, SITE);
    return REAL(munmap)(memory, size);
}

EXPORT int madvise(void *memory, size_t size, int advice) {
    CALLED_BY_PROGRAM(madvise, memory, size, advice);
    bool drops = advice == MADV_DONTNEED || advice == MADV_FREE;
    if (drops || advice == MADV_REMOVE) process_state_operation(SET, MAPPINGS, SITE);
    /* What processes share is still there. */
    if (advice == MADV_REMOVE || (drops && !in_shared_memory(memory))) loses_content(memory, size, SITE);
    return REAL(madvise)(memory, size, advice);
}

/* Where there was something already, it is replaced. */
static void replaces(void *memory, size_t size, int flags, uint64_t site) {
    if (!(flags & MAP_FIXED)) return;
    process_state_operation(SET, MAPPINGS, site);
    loses_content(memory, size, site);
}

EXPORT void *mmap(void *wanted, size_t size, int rights, int flags, int fd, off_t offset) {
    CALLED_BY_PROGRAM(mmap, wanted, size, rights, flags, fd, offset);
    replaces(wanted, size, flags, SITE);
    return REAL(mmap)(wanted, size, rights, flags, fd, offset);
}

EXPORT void *mmap64(void *wanted, size_t size, int rights, int flags, int fd, off64_t offset) {
    CALLED_BY_PROGRAM(mmap64, wanted, size, rights, flags, fd, offset);
    replaces(wanted, size, flags, SITE);
    return REAL(mmap64)(wanted, size, rights, flags, fd, offset);
}

/* What is new at the place to which a mapping has moved, or up to which it has grown. */
static void has_moved(char *from, size_t old_size, char *to, size_t new_size, uint64_t site) {
    if (!hooks) return;
    size_t kept = from == to ? old_size : 0;
    if (new_size > kept) hooks->allocated((uint64_t)(uintptr_t)to + kept, new_size - kept, site);
    if (from != to && in_shared_memory(from)) hooks->became_shared(to, new_size);
}

EXPORT void *mremap(void *memory, size_t old_size, size_t new_size, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    void *wanted = flags & MREMAP_FIXED ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    CALLED_BY_PROGRAM(mremap, memory, old_size, new_size, flags, wanted);
    process_state_operation(SET, MAPPINGS, SITE);
    char *moved = REAL(mremap)(memory, old_size, new_size, flags, wanted);
    if (moved == MAP_FAILED) return moved;
    /* Stores that wait in a buffer are in memory since the operation. */
    if (moved != memory) vanishes(memory, old_size, SITE);
    else if (new_size < old_size) vanishes(moved + new_size, old_size - new_size, SITE);
    has_moved(memory, old_size, moved, new_size, SITE);
    return moved;
}
