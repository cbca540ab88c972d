/* What is in folders, beside what is in files. */
#ifndef BOHRBUG_FOLDERS_H
#define BOHRBUG_FOLDERS_H

#include <stdint.h>

/* The resource of the folder that the last part of a path is in, or NONE if there is no such folder. */
uint32_t folder_of(int folder, const char *path, uint64_t site);

#endif
