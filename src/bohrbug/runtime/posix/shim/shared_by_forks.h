/* What was made before main and would be one for all forks: what one execution does to it the next would see. */
#ifndef BOHRBUG_SHARED_BY_FORKS_H
#define BOHRBUG_SHARED_BY_FORKS_H

#include <stdbool.h>

/* Before the program makes any of its own: what others have left open, each execution shares anyway. */
void note_inherited_descriptors(void);
/* Just before main: whether there is such a thing. */
bool forks_would_share(void);

#endif
