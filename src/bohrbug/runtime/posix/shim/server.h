/* The fork server: the program stops just before main, and is forked for each execution. */
#ifndef BOHRBUG_SERVER_H
#define BOHRBUG_SERVER_H

#include <stdbool.h>

/* The descriptor that orders come by and answers go to. */
#define SERVER_FD 900

/* What an execution came to; the starter reads it as two 32-bit numbers. */
struct answer {
    int pid, status;
};

/* Whether this process is to serve. */
bool server_is_wanted(void);
/* Forks for each order; returns only in the forked children. */
void server_run(void);

#endif
