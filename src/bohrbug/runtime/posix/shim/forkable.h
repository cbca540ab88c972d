/* Whether a fork of the program, made just before main, is as one that was started anew. */
#ifndef BOHRBUG_FORKABLE_H
#define BOHRBUG_FORKABLE_H

#include <stdbool.h>

/* Before the program makes any of its own: what others have left open, each execution shares anyway. */
void note_inherited_descriptors(void);
/* False if the program has made something that would be one for all forks, so that each sees what the one
 * before has done to it; or a timer, which forks do not have. */
bool is_forkable(void);

#endif
