/* Instructions at which tasks are held, to see whether others come to the same memory. */
#ifndef BOHRBUG_SAMPLED_H
#define BOHRBUG_SAMPLED_H

/* An execution begins in this process, or goes on in it after a fork. */
void sampled_begin(void);
void sampled_forked(void);

#endif
