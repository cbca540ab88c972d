/* Around main, and the other ends of a process.  The end is a scheduling point: many programs return
 * from main without joining. */
#include "real.h"
#include <stdio.h>

#include "fragment.h"
#include "freed.h"
#include "process.h"
#include "schedule.h"
#include "server.h"
#include "stack.h"
#include "start.h"
#include "task.h"
#include "timers.h"

static int (*program_main)(int, char **, char **);

static void exit_point(uint64_t site) {
    if (!controlled() || busy) return;
    GUARD;
    modules_record_new();
    perform(END, current_resource(), site);
    if (other_threads_stay()) segment->ended_beside_others = 1;
    freed_check_all();
    if (is_fragment) fragment_exits();
    /* While there is still somebody to wait for room in a pipe. */
    if (this_process) fflush(stdout);
}

static int watched_main(int argc, char **argv, char **environment) {
    if (segment && server_is_wanted()) {
        server_run();
        begin();
    }
    early = false;
    if (segment && current && this_process == 0) {
        segment->reached_main = 1;
        segment->steps_before_main = segment->steps;
        segment->resources_before_main = segment->resources;
    }
    int result = program_main(argc, argv, environment);
    exit_point(0);
    return result;
}

EXPORT int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
                             void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
                             void *stack) {
    program_main = main;
    return REAL(__libc_start_main)(watched_main, argc, argv, init, fini, rtld_fini, stack);
}

EXPORT void exit(int status) {
    exit_point(SITE);
    REAL(exit)(status);
    __builtin_unreachable();
}

EXPORT void quick_exit(int status) {
    exit_point(SITE);
    REAL(quick_exit)(status);
    __builtin_unreachable();
}

EXPORT void _exit(int status) {
    exit_point(SITE);
    if (segment) process_leave();
    REAL(_exit)(status);
    __builtin_unreachable();
}

EXPORT void _Exit(int status) {
    exit_point(SITE);
    if (segment) process_leave();
    REAL(_Exit)(status);
    __builtin_unreachable();
}
