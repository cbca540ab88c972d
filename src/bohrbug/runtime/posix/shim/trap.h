/* Futexes of libraries that make the system call themselves, such as OpenMP's runtime. */
#ifndef BOHRBUG_TRAP_H
#define BOHRBUG_TRAP_H

/* From now on their futexes are ours, as far as such libraries are loaded. */
void traps_install(void);

#endif
