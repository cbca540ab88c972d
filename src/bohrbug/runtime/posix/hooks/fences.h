#ifndef BOHRBUG_FENCES_H
#define BOHRBUG_FENCES_H

#include <stdbool.h>

/* Whether anything that is loaded may do fences of atomics: it names the function that does them. */
bool calls_fences(void);

#endif
