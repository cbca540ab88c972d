/* The functions behind those that this library stands before. */
#ifndef BOHRBUG_NEXT_H
#define BOHRBUG_NEXT_H

#include <dlfcn.h>

static inline void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

#endif
