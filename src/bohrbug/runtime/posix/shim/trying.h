/* Calls that block in the kernel on what no descriptor tells: each is tried without blocking; whoever
 * can't go on waits until somebody has done what may have changed that. */
#ifndef BOHRBUG_TRYING_H
#define BOHRBUG_TRYING_H

#include "outsiders.h"
#include "schedule.h"

/* Continues the list of spaces in descriptors.c. */
#define LOCKED_FILES 5
#define QUEUES 6
#define SEMAPHORES 7
#define MESSAGE_QUEUES 8
#define FILES 9
#define FILE_NAMES 10
#define STATES 11
#define SYSTEM_V_KEYS 12

struct call {
    /* What it gives, or -1 and EAGAIN, EACCES or ENOMSG as long as it would block. */
    long (*attempt)(const struct call *call);
    const void *what;
    long numbers[4];
    /* Who is not of the execution could let it go on, NOBODY if NULL. */
    enum outsider (*outsider)(const struct call *call);
    /* The virtual moment at which it fails with ETIMEDOUT; 0 if it waits for ever. */
    uint64_t deadline;
    /* A handler ends it, SA_RESTART or not. */
    bool never_restarts;
};

/* A deadline as such, also one that was before the beginning. */
static inline uint64_t call_deadline(uint64_t moment) { return moment ? moment : 1; }
/* What the call gives when it can be done, behind a scheduling point. */
long persist(const struct call *call, enum kind kind, uint32_t resource, uint64_t site);
/* The same without a point before the first attempt. */
long persist_from_now(const struct call *call, enum kind kind, uint32_t resource, uint64_t site);
/* Once a call is made that may let others go on. */
void let_go(uint32_t resource, uint64_t site);
/* The resource that stands for something which the kernel has a number for. */
uint32_t numbered(uint64_t space, uint64_t place, enum type type, uint64_t site);

/* Tries the call of a task of this process once more, for somebody outside may have let it go on. */
void try_again(struct task *task);

#endif
