/* Programs that give up rights, such as those of root, before they start others: these may not open what the
 * starter has made, so the segment is handed on to them. */
#ifndef BOHRBUG_RIGHTS_H
#define BOHRBUG_RIGHTS_H

#include <stdbool.h>

/* Rights are about to be given up. */
void rights_change(void);
/* The segment was opened by this path, which may be one that was handed on. */
void rights_opened(const char *path);
/* The path by which the program that is executed next finds the segment. */
const char *rights_path(void);
/* A descriptor of the segment, which the process keeps from now on; -1 if it can't be had any more. */
int rights_descriptor(void);
/* Whether that program may open all that it needs to take part. */
bool rights_suffice(void);

#endif
