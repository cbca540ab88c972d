/* FNV-1a: a number for some characters, the same in every process and every execution. */
#ifndef BOHRBUG_FNV_H
#define BOHRBUG_FNV_H

#include <stdint.h>

static inline uint64_t fnv_1a(const char *from, const char *to) {
    uint64_t key = 0xCBF29CE484222325ULL;
    for (; from < to; from++) key = (key ^ (unsigned char)*from) * 0x100000001B3ULL;
    return key;
}

#endif
