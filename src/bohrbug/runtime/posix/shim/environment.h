/* What a new program needs to take part. */
#ifndef BOHRBUG_ENVIRONMENT_H
#define BOHRBUG_ENVIRONMENT_H

#include <stdbool.h>

#define PATH_LENGTH 4096

/* A variable, as the process has it from its parent, or NULL.  The C library's own functions may be
 * replaced by those of the program, as bash does it. */
const char *variable(const char *name);
/* Takes a variable out. */
void forget_variable(const char *name);
/* An environment in which the shim is preloaded and finds the segment; never freed. */
char *const *with_control(char *const *environment);
/* The one that the program would have by itself, for programs that can't take part; never freed. */
char *const *without_control(char *const *environment);
/* What this process starts from here on takes part no more than it does. */
void environment_go_free(void);
/* Whether the loader would preload the shim into a program, and that could open all it needs. */
bool can_take_part(const char *path);
/* Whether the kernel executes such files: programs, and scripts that name what executes them. */
bool can_be_executed(const char *path);
/* The program that a shell would start for a name. */
bool find_program(const char *name, char *path);

#endif
