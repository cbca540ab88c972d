/* Advice to the kernel that the headers of the C library may be too old for; Linux 5.14. */
#ifndef BOHRBUG_POPULATE_H
#define BOHRBUG_POPULATE_H

#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "own_call.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* Where the kernel does not know how, all is as before. */
static inline void populate(uintptr_t from, uintptr_t to, int advice) {
    OWN_CALL(SYS_madvise, from, to - from, advice);
}

#endif
