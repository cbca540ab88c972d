/* What compilers call before each access of memory: the interface of the thread sanitizer. */
#include <stddef.h>

#include "shadow.h"
#include "watching.h"

#define EXPORT __attribute__((visibility("default")))
#define PLACE ((uint64_t)(uintptr_t)__builtin_return_address(0))

EXPORT void __tsan_init(void) { instrumented_module(__builtin_return_address(0)); }

EXPORT void __tsan_func_entry(void *caller) { (void)caller; }
EXPORT void __tsan_func_exit(void) {}

#define ALIGNED(size) \
    EXPORT void __tsan_read##size(void *address) { access_at(address, size, false, PLACE); } \
    EXPORT void __tsan_write##size(void *address) { access_at(address, size, true, PLACE); } \
    EXPORT void __tsan_read##size##_pc(void *address, void *place) { \
        access_at(address, size, false, (uint64_t)(uintptr_t)place); \
    } \
    EXPORT void __tsan_write##size##_pc(void *address, void *place) { \
        access_at(address, size, true, (uint64_t)(uintptr_t)place); \
    } \
    EXPORT void __tsan_volatile_read##size(void *address) { access_at(address, size, false, PLACE); } \
    EXPORT void __tsan_volatile_write##size(void *address) { access_at(address, size, true, PLACE); } \
    EXPORT void __tsan_read_write##size(void *address) { \
        access_at(address, size, false, PLACE); \
        access_at(address, size, true, PLACE); \
    }
ALIGNED(1)
ALIGNED(2)
ALIGNED(4)
ALIGNED(8)
ALIGNED(16)

static void range(const void *address, size_t size, enum kind kind, uint64_t place) {
    if (now.epoch && size) access_slowly((uint64_t)(uintptr_t)address, size, kind, place);
}

#define UNALIGNED(size) \
    EXPORT void __tsan_unaligned_read##size(void *address) { range(address, size, READ, PLACE); } \
    EXPORT void __tsan_unaligned_write##size(void *address) { range(address, size, WRITE, PLACE); } \
    EXPORT void __tsan_unaligned_volatile_read##size(void *address) { \
        range(address, size, READ, PLACE); \
    } \
    EXPORT void __tsan_unaligned_volatile_write##size(void *address) { \
        range(address, size, WRITE, PLACE); \
    } \
    EXPORT void __tsan_unaligned_read_write##size(void *address) { \
        range(address, size, READ, PLACE); \
        range(address, size, WRITE, PLACE); \
    }
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)

EXPORT void __tsan_read_range(void *address, size_t size) { range(address, size, READ, PLACE); }
EXPORT void __tsan_write_range(void *address, size_t size) { range(address, size, WRITE, PLACE); }
EXPORT void __tsan_read_range_pc(void *address, size_t size, void *place) {
    range(address, size, READ, (uint64_t)(uintptr_t)place);
}
EXPORT void __tsan_write_range_pc(void *address, size_t size, void *place) {
    range(address, size, WRITE, (uint64_t)(uintptr_t)place);
}

/* A constructor or destructor sets which virtual functions an object has. */
EXPORT void __tsan_vptr_update(void **pointer, void *value) {
    if (*pointer != value) access_at(pointer, sizeof *pointer, true, PLACE);
}
EXPORT void __tsan_vptr_read(void **pointer) { access_at(pointer, sizeof *pointer, false, PLACE); }
