/* Futexes of libraries that make the system call themselves, such as OpenMP's runtime. */
#ifndef BOHRBUG_TRAP_H
#define BOHRBUG_TRAP_H

#include <linux/audit.h>
#include <stdint.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* The kernel's SYS_SECCOMP, which the C library does not name: the code of a signal by a filter. */
#define TRAPPED 1

#ifdef ARCHITECTURE
/* Of a system call that a filter turned into a signal, by the handler's context: its six arguments, and the
 * address that it comes back to. */
uint64_t trapped_arguments(void *context, long *arguments);
/* ... and what it is to return. */
void trapped_result(void *context, long result);
#endif

/* From now on their futexes are ours, as far as such libraries are loaded. */
void traps_install(void);

#endif
