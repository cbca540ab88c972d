/* The server: the program stops just before main, and is forked for each execution, or restored.
 *
 * The next process is forked at once when one has ended, and waits itself for the order: while the
 * starter looks at what happened, and thinks of the next plan, it gets ready. */
#ifndef BOHRBUG_SERVER_H
#define BOHRBUG_SERVER_H

#include <stdbool.h>
#include <stdint.h>

/* A socket that orders come by, and that is closed when nobody wants any more. */
#define SERVER_FD 900
/* What it is to execute: so many plans, each in a segment of its own.  More than one at a time is asked only of
 * a process that is restored, or whose forks leave nothing behind; it stops where something is not as usual. */
#define MOST_ORDERED 64
struct order {
    uint64_t count;
    uint64_t starts[MOST_ORDERED]; /* where their segments begin in the file */
};
/* An eventfd for the answers: the process, or 0 if this one can't serve, and how it ended, as the two halves
 * of a number.  Whoever writes to a socket is taken to have no more to do, and the reader is brought to
 * its processor, where it would be in the way of the next fork. */
#define ANSWER_FD 901

/* Whether this process is to serve. */
bool server_is_wanted(void);
/* Serves; returns once for each execution, when its order has come: in a fork of this process, or in this
 * process itself, see snapshot.h. */
void server_run(void);

#endif
