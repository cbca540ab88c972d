/* The beginning: the process finds the segment and takes part. */
#ifndef BOHRBUG_START_H
#define BOHRBUG_START_H

/* From here on this thread is a task. */
void begin(void);

#endif
