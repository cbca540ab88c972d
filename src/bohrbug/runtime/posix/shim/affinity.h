/* One processor for all tasks, as only one of them runs at a time. */
#ifndef BOHRBUG_AFFINITY_H
#define BOHRBUG_AFFINITY_H

void affinity_begin(void);

#endif
