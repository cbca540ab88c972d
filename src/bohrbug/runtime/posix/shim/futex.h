/* The system call futex, under control. */
#ifndef BOHRBUG_FUTEX_H
#define BOHRBUG_FUTEX_H

#include <stdint.h>

/* What futex(2) does with six arguments, for the current task; sets errno. */
long futex_perform(const long *arguments, uint64_t site);

#endif
