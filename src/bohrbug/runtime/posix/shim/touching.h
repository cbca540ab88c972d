/* Getting memory ready before it is needed. */
#ifndef BOHRBUG_TOUCHING_H
#define BOHRBUG_TOUCHING_H

/* In a process that was just forked: nearly everything that an execution touches first costs a fault
 * in it.  This takes as many faults now, and changes nothing. */
void touch_memory(void);

#endif
