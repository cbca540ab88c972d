/* One processor for all tasks, as only one of them runs at a time. */
#ifndef BOHRBUG_AFFINITY_H
#define BOHRBUG_AFFINITY_H

void affinity_begin(void);
/* All that it may have, for a process whose forks have one kernel thread each. */
void affinity_widen(void);

#endif
