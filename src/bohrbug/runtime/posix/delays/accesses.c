/* What compilers call before each access of memory: the interface of the thread sanitizer. */
#include <stddef.h>

#include "cue.h"

EXPORT void __tsan_init(void) {}
EXPORT void __tsan_func_entry(void *caller) { (void)caller; }
EXPORT void __tsan_func_exit(void) {}

#define ONE(name, act, size) \
    EXPORT void name(void *address) { cue_at_access(act, address, size, SITE); }
#define ONE_AT(name, act, size) \
    EXPORT void name(void *address, void *place) { \
        cue_at_access(act, address, size, (uint64_t)(uintptr_t)place); \
    }

#define ALIGNED(size) \
    ONE(__tsan_read##size, READS, size) \
    ONE(__tsan_write##size, WRITES, size) \
    ONE_AT(__tsan_read##size##_pc, READS, size) \
    ONE_AT(__tsan_write##size##_pc, WRITES, size) \
    ONE(__tsan_volatile_read##size, READS, size) \
    ONE(__tsan_volatile_write##size, WRITES, size) \
    ONE(__tsan_read_write##size, READS | WRITES, size)
ALIGNED(1)
ALIGNED(2)
ALIGNED(4)
ALIGNED(8)
ALIGNED(16)

#define UNALIGNED(size) \
    ONE(__tsan_unaligned_read##size, READS, size) \
    ONE(__tsan_unaligned_write##size, WRITES, size) \
    ONE(__tsan_unaligned_volatile_read##size, READS, size) \
    ONE(__tsan_unaligned_volatile_write##size, WRITES, size) \
    ONE(__tsan_unaligned_read_write##size, READS | WRITES, size)
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)

static void range(uint32_t act, const void *address, size_t size, uint64_t place) {
    if (size) cue_at_access(act, address, size < UINT32_MAX ? (uint32_t)size : UINT32_MAX, place);
}

EXPORT void __tsan_read_range(void *address, size_t size) { range(READS, address, size, SITE); }
EXPORT void __tsan_write_range(void *address, size_t size) { range(WRITES, address, size, SITE); }
EXPORT void __tsan_read_range_pc(void *address, size_t size, void *place) {
    range(READS, address, size, (uint64_t)(uintptr_t)place);
}
EXPORT void __tsan_write_range_pc(void *address, size_t size, void *place) {
    range(WRITES, address, size, (uint64_t)(uintptr_t)place);
}

/* A constructor or destructor sets which virtual functions an object has. */
EXPORT void __tsan_vptr_update(void **pointer, void *value) {
    if (*pointer != value) cue_at_access(WRITES, pointer, sizeof *pointer, SITE);
}
ONE(__tsan_vptr_read, READS, sizeof(void *))

/* Of clang 15 and newer; they stand for the functions without the prefix. */
EXPORT void *__tsan_memcpy(void *target, const void *source, size_t size) {
    range(READS, source, size, SITE);
    range(WRITES, target, size, SITE);
    return __builtin_memcpy(target, source, size);
}
EXPORT void *__tsan_memmove(void *target, const void *source, size_t size) {
    range(READS, source, size, SITE);
    range(WRITES, target, size, SITE);
    return __builtin_memmove(target, source, size);
}
EXPORT void *__tsan_memset(void *target, int value, size_t size) {
    range(WRITES, target, size, SITE);
    return __builtin_memset(target, value, size);
}
