/* Memory that an execution touches first, so that it need not be asked for page by page. */
#ifndef BOHRBUG_TOUCHING_H
#define BOHRBUG_TOUCHING_H

/* In the waiting program: what its forks are to find. */
void touch_before_forks(void);
/* In a fork, before it has its order. */
void touch_in_fork(void);
/* ... if it is known which segment it will have. */
void touch_segment(void);

#endif
