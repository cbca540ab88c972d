/* Random numbers that are the same in every execution. */
#ifndef BOHRBUG_RANDOM_BYTES_H
#define BOHRBUG_RANDOM_BYTES_H

#include <stddef.h>

void random_bytes(void *buffer, size_t length);

#endif
