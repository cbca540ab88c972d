/* The snapshot: the program stops just before main, and for each execution the same process goes on from
 * there.  When an execution has ended, its threads are made to leave and its memory is put back.
 *
 * Only system calls pass that leave nothing behind which this does not undo; see safe_calls.h. */
#ifndef BOHRBUG_SNAPSHOT_H
#define BOHRBUG_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

/* Why an execution is given up (`given_up` in the segment), beside the number of a system call + 1. */
enum given_up { NOT_GIVEN_UP = 0, THREADS_STAY = 100001, SIGNALS_MATTER, MAIN_ENDED, NOT_RESTORED };

/* Returns once for each execution, when its order has come.  In each as many threads are expected as there
 * are sizes of stacks, with commas in between. */
void snapshot_run(const char *sizes);

/* In the handler of the signal that everybody lets through: whoever is asked to leaves. */
void snapshot_look(void);
/* The execution ends here with an exit status, if this process is restored. */
void snapshot_end(int status);
/* This process can't be restored: it ends, and the execution is not one. */
void snapshot_give_up(uint32_t why);
/* Whether a range of addresses belongs to what is restored. */
bool snapshot_holds(uintptr_t start, uintptr_t length);
/* Whether a descriptor is closed when the execution has ended. */
bool snapshot_frees(long descriptor);
/* Something is about to change that is to be undone after the execution. */
enum changed { NAME_CHANGED = 1, SIGNAL_STACK_CHANGED = 2, FILES_OPENED = 4 };
void snapshot_note(enum changed changed);
/* The handler of a signal is about to be changed. */
void snapshot_keep_action(int number);

#endif
