/* Random numbers for policies: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, figure 17).
 *
 * `SplitMix` of runtime/policies/drawing.py draws the same. */
#ifndef BOHRBUG_CORE_DRAW_H
#define BOHRBUG_CORE_DRAW_H

#include <stdint.h>

#define DRAWN 0x9E3779B97F4A7C15ULL

/* As if bits had been drawn of which nobody wants to know. */
static inline void skip_draw(uint64_t *state) { *state += DRAWN; }

/* 64 random bits. */
static inline uint64_t draw_bits(uint64_t *state) {
    uint64_t z = *state += DRAWN;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
    return z ^ z >> 31;
}

/* A number below `limit`, which is above 0. */
static inline uint32_t draw_below(uint64_t *state, uint32_t limit) {
    return (uint32_t)((draw_bits(state) >> 32) * limit >> 32);
}

#endif
