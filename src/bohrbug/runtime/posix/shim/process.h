/* Processes that take part in an execution. */
#ifndef BOHRBUG_PROCESS_H
#define BOHRBUG_PROCESS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "segment.h"

/* This process takes part: as the first one, as one that another has started, or after an exec.
 * False if it does not. */
bool process_begin(void);
/* Whoever started the execution may be killed, and nobody would be left to end it. */
void end_with_starter(void);
/* Whether a child of a process has ended: the one with a pid, or any if that is -1. */
bool child_ended(uint32_t process, int32_t pid);
/* A stream is closed, which popen may have opened. */
void popened_closes(const FILE *stream);
/* Whether `pid`, as waitpid has it, means that child: -1 means all, and numbers below that a group. */
bool child_is_meant(const struct process *child, int32_t pid);
/* Whether there is a process that does not take part and could still change something. */
bool processes_outside(void);
/* Sleeps until the task may have the turn, or has to answer. */
void processes_wait(struct task *task);
/* A process that passed control on while it was ending is really gone when this returns. */
void wait_for_the_dying(void);
/* Whether a process has ended, collected or not. */
bool process_is_gone(int32_t pid);
/* ... or was stopped. */
bool process_cannot_answer(int32_t pid);
/* Notices processes that ended while they did not have the turn; whether there were any. */
bool some_have_ended(void);
/* Its tasks are no more, whoever notices it. */
void process_is_over(uint32_t process);
/* The last thing that a process does under control. */
void process_leave(void);

/* Before anybody else asks to be called at forks. */
void forks_begin(void);
/* A new process with a copy of this thread; what fork() returns. */
pid_t process_fork(uint64_t site);
/* A record for a child that is about to be started, and its first task. */
struct task *process_prepare(uint64_t site);
void process_started(struct task *task, pid_t pid, bool takes_part);
void process_not_started(struct task *task);

#endif
