/* What an execution has printed, kept in its segment, so that the next one can follow at once. */
#ifndef BOHRBUG_KEPT_OUTPUT_H
#define BOHRBUG_KEPT_OUTPUT_H

#include <stdbool.h>

#include "segment.h"

/* Moves it from the two files into a segment; false, and nothing is moved, if it takes too much room. */
bool output_keep(struct header *room);

#endif
