/* FNV-1a: a number for some characters, the same in every process and every execution. */
#ifndef BOHRBUG_FNV_H
#define BOHRBUG_FNV_H

#include <stdint.h>

#define FNV_START 0xCBF29CE484222325ULL
#define FNV_PRIME 0x100000001B3ULL

static inline uint64_t fnv_1a(const char *from, const char *to) {
    uint64_t key = FNV_START;
    for (; from < to; from++) key = (key ^ (unsigned char)*from) * FNV_PRIME;
    return key;
}

/* The same with words for characters, where only a difference matters; goes on with a key. */
static inline uint64_t fnv_1a_of_words(uint64_t key, const uint64_t *from, const uint64_t *to) {
    for (; from < to; from++) {
        key = (key ^ *from) * FNV_PRIME;
        /* A product has nothing of high bits in its low ones. */
        key ^= key >> 32;
    }
    return key;
}

#endif
