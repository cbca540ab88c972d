/* Older values of atomics: memory as C11 has it, as far as a history of stores can show it (Kang, Hur, Lahav, Vafeiadis
 * and Dreyer, POPL 2017, without promises; Norris and Demsky, CDSChecker, OOPSLA 2013).
 *
 * Stores to an atomic come in the order of their execution, which all tasks agree on.  A load may see any of them that
 * is not older than one of which its task knows: that it made or has seen itself, or that happens before.  Which one is
 * a choice; 0 is the newest.  Read-modify-writes see the newest.
 *
 * Sequentially consistent accesses and fences are those of RC11 (Lahav, Vafeiadis, Kang, Hur and Dreyer, PLDI 2017), in
 * the order of their execution.  What a fence has seen of the fences before it is part of the clock of its task, behind
 * the entries of tasks, so that it is passed on with all else.
 */
#ifndef BOHRBUG_PAST_STORES_H
#define BOHRBUG_PAST_STORES_H

#include <stdbool.h>
#include <stddef.h>

#include "accesses.h"

/* Whether this execution has histories of stores. */
extern bool has_past_stores OWN;

void past_stores_begin(void);
/* A second process takes part, whose tasks are not told apart here: from here on memory is sequentially consistent. */
void past_stores_end(void);

/* What the next operation of the current task changes beside the atomic that it is on, or NONE: sequentially consistent
 * ones are in one order with the fences, if there are any. */
uint32_t order_beside_atomic(int order, uint64_t site);
/* The current task is about to do something to the atomic, which is what stands at the address. */
void past_stores_look(uint32_t resource, const void *address, size_t size);
/* It has loaded the value, or the newest one must do (`value` is NULL).  Whether the value is an older one now. */
bool past_store_chosen(uint32_t resource, void *value, size_t size, bool acquires, bool strongest,
                       uint64_t site);
/* It has stored what now stands at the address. */
void past_stores_add(uint32_t resource, const void *address, size_t size, int order);
/* It does a fence of the strongest order: order_fence takes care of all else. */
void past_stores_fence(void);
/* ... before which others may come. */
void past_stores_before_fence(uint64_t site);

#endif
