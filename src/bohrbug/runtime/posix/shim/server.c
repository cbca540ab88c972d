#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "environment.h"
#include "own_call.h"
#include "real.h"
#include "safe_forks.h"
#include "snapshot.h"
#include "spare.h"
#include "thread.h"
#include "touching.h"

/* Set if it is wanted; names a further variable that is for the server only, if there is one. */
#define WANTED "BOHRBUG_SERVER"
/* Set if it is to be one process for all executions. */
#define SNAPSHOT "BOHRBUG_SNAPSHOT"
/* Set if its forks are to leave nothing behind. */
#define SAFE "BOHRBUG_SAFE"
/* The sizes of the stacks of the threads that are expected in each, with commas in between. */
#define STACKS "BOHRBUG_STACKS"
/* Where standard input is found anew in each execution. */
#define INPUT "BOHRBUG_INPUT"

bool server_is_wanted(void) { return variable(WANTED) != NULL; }

/* Everything that an execution begins with and that needs no plan. */
static void get_ready(void) {
    OWN_CALL(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0);
    touch_in_fork();
    spares_touch();
}

/* What a fork does to its session and to its input is to be no other fork's affair. */
static void stand_alone(const char *input) {
    /* Some servers end by kill(0, SIGTERM). */
    OWN_CALL(SYS_setsid, 0, 0, 0);
    long fd = input ? OWN_CALL(SYS_openat, AT_FDCWD, input, O_RDONLY) : -1;
    if (fd > 0) {
        OWN_CALL(SYS_dup3, fd, 0, 0);
        OWN_CALL(SYS_close, fd, 0, 0);
    }
    touch_segment();
}

static bool has_order(void) {
    struct order order;
    return REAL(read)(SERVER_FD, &order, sizeof order) == sizeof order;
}

/* Files that were opened before main would share their position among all executions. */
static bool has_open_files(void) {
    for (int fd = 3; fd < 256; fd++) {
        struct stat status;
        if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) return true;
    }
    return false;
}

static bool tell(pid_t pid, int status) {
    uint64_t answer = (uint64_t)(uint32_t)pid << 32 | (uint32_t)status;
    return REAL(write)(ANSWER_FD, &answer, sizeof answer) == sizeof answer;
}

static bool is_wanted_no_more(void) {
    char order;
    return REAL(recv)(SERVER_FD, &order, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* What the program is not to see. */
static void clean_environment(void) {
    forget_variable(variable(WANTED));
    forget_variable(WANTED);
    forget_variable(INPUT);
    forget_variable(SNAPSHOT);
    forget_variable(SAFE);
    forget_variable(STACKS);
}

/* A copy of this process; of its threads only this one goes on in it, but the stacks of the others are those
 * of spare threads.  The C library's fork() would hand them out as free memory. */
static pid_t copy_process(void) { return spare_count() ? REAL(_Fork)() : REAL(fork)(); }

void server_run(void) {
    const char *input = variable(INPUT);
    const char *sizes = variable(STACKS);
    bool restores = variable(SNAPSHOT) != NULL, is_safe = variable(SAFE) != NULL;
    clean_environment();
    REAL(fflush)(NULL);
    int error = errno;
    if (restores && !has_open_files()) {
        snapshot_run(sizes);
        return;
    }
    bool can_be = !restores && !has_open_files();
    if (!(can_be && is_safe) && !tell(can_be ? getpid() : 0, 1)) REAL(_exit)(0);
    /* What can't be made is made in each execution. */
    if (segment->fibers && REAL(_Fork)) spares_make(sizes, thread_begin_kept);
    if (can_be && is_safe) {
        safe_forks_run((struct forking){copy_process, get_ready});
        errno = error;
        return;
    }
    touch_before_forks();
    while (!is_wanted_no_more()) {
        int status = -1;
        pid_t pid = copy_process();
        if (pid == 0) {
            get_ready();
            stand_alone(input);
            if (!has_order()) REAL(_exit)(0);
            REAL(close)(SERVER_FD);
            REAL(close)(ANSWER_FD);
            errno = error;
            return;
        }
        if (pid > 0) REAL(waitpid)(pid, &status, 0);
        else if (!has_order()) break;
        if (!tell(pid > 0 ? pid : 0, status)) break;
    }
    REAL(_exit)(0);
}
