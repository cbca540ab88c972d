/* Letting go of what happened long ago, in a run that may be endless. */
#ifndef BOHRBUG_FORGETTING_H
#define BOHRBUG_FORGETTING_H

#include <stdint.h>

/* The first steps are no more, and the others have other numbers. */
void forget_steps(uint32_t count);
/* Where there is no room for more of them: the index of a task, a process or a resource that is no more, and that no
 * step speaks of any more; NONE if there is none. */
uint32_t forgotten_task(void);
uint32_t forgotten_process(void);
uint32_t forgotten_resource(void);

#endif
