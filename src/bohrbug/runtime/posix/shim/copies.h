/* Copies of this process, for fragments: made, waited for and ended.
 *
 * A copy is a bare clone: nothing that the program has asked for is called before or after it, its end sends no
 * signal, and no wait of the program finds it. */
#ifndef BOHRBUG_COPIES_H
#define BOHRBUG_COPIES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct copy {
    pid_t process;
    int descriptor;            /* of the process */
    int status;                /* as of wait */
    bool was_late;
};

/* In this process true, with the copy; in the copy true, with its process 0; false if there is none. */
bool copy_make(struct copy *copy);
/* Returns when all have ended; those that take longer are ended. */
void copies_wait(struct copy *copies, uint32_t count, uint64_t nanoseconds);

#endif
