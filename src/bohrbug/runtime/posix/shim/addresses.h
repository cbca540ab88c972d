/* Addresses that a program hands over.  The kernel answers EFAULT where they lead nowhere; whoever reads them
 * on this side dies. */
#ifndef BOHRBUG_ADDRESSES_H
#define BOHRBUG_ADDRESSES_H

#include <stdbool.h>

/* Whether nothing can be read there. */
bool leads_nowhere(const void *address);
/* The same of one that may be NULL. */
static inline bool misleads(const void *address) { return address && leads_nowhere(address); }
/* Sets errno to EFAULT, and is -1. */
int bad_address(void);

/* Such an address is for the kernel to refuse. */
#define REFUSED_IF(leads_nowhere, name, ...) \
    if (leads_nowhere) return REAL(name)(__VA_ARGS__)

#endif
