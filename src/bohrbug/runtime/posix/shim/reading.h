/* Files that are read on our own behalf, most of them the kernel's about a process. */
#ifndef BOHRBUG_READING_H
#define BOHRBUG_READING_H

#include <stddef.h>

#include "own.h"

/* Reads the beginning of a file, with a 0 behind it; how many bytes that is, -1 if it can't be opened or read.
 * Nothing is allocated: the task may wait for a lock of the allocator. */
long read_start(const char *path, char *start, size_t size) OWN;

#endif
