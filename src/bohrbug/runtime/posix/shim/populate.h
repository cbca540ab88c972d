/* Advice to the kernel that the headers of the C library may be too old for; Linux 5.14. */
#ifndef BOHRBUG_POPULATE_H
#define BOHRBUG_POPULATE_H

#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#endif
