#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "environment.h"
#include "forkable.h"
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

/* What the program does when a child of its own ends. */
static struct sigaction at_end_of_child;
static bool minds_children;

/* The children of this process are none of the program's: it is not to ignore, or to collect, them. */
static void keep_children(void) {
    struct sigaction usual = {.sa_handler = SIG_DFL};
    REAL(sigaction)(SIGCHLD, NULL, &at_end_of_child);
    minds_children =
        at_end_of_child.sa_handler != SIG_DFL || at_end_of_child.sa_flags & SA_NOCLDWAIT;
    if (minds_children) REAL(sigaction)(SIGCHLD, &usual, NULL);
}

/* Everything that an execution begins with and that needs no plan. */
static void get_ready(void) {
    OWN_CALL(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0);
    if (minds_children) REAL(sigaction)(SIGCHLD, &at_end_of_child, NULL);
    touch_in_fork();
    spares_touch();
}

/* What a fork does to its session and to its input is to be no other fork's affair. */
static void stand_alone(const char *input, long input_at) {
    /* Some servers end by kill(0, SIGTERM). */
    OWN_CALL(SYS_setsid, 0, 0, 0);
    long fd = input ? OWN_CALL(SYS_openat, AT_FDCWD, input, O_RDONLY) : -1;
    if (fd > 0) {
        OWN_CALL(SYS_dup3, fd, 0, 0);
        OWN_CALL(SYS_close, fd, 0, 0);
        OWN_CALL(SYS_lseek, 0, input_at, SEEK_SET);
    }
    touch_segment();
}

static bool has_order(void) {
    struct order order;
    return REAL(read)(SERVER_FD, &order, sizeof order) == sizeof order;
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
 * of spare threads.  The C library's fork() would hand them out as free memory, and would call what the
 * program has asked for by pthread_atfork, though it does not fork itself. */
static pid_t copy_process(void) { return REAL(_Fork) ? REAL(_Fork)() : REAL(fork)(); }

void server_run(void) {
    const char *input = variable(INPUT);
    const char *sizes = variable(STACKS);
    bool restores = variable(SNAPSHOT) != NULL, is_safe = variable(SAFE) != NULL;
    clean_environment();
    int error = errno;
    bool can_be = is_forkable();
    if (restores && can_be) {
        snapshot_run(sizes);
        return;
    }
    can_be = can_be && !restores;
    if (!(can_be && is_safe) && !tell(can_be ? getpid() : 0, 1)) REAL(_exit)(0);
    /* What can't be made is made in each execution. */
    if (segment->fibers && REAL(_Fork)) spares_make(sizes, thread_begin_kept);
    keep_children();
    if (can_be && is_safe) {
        safe_forks_run((struct forking){copy_process, get_ready});
        errno = error;
        return;
    }
    touch_before_forks();
    long input_at = OWN_CALL(SYS_lseek, 0, 0, SEEK_CUR);
    while (!is_wanted_no_more()) {
        int status = -1;
        pid_t pid = copy_process();
        if (pid == 0) {
            get_ready();
            stand_alone(input, input_at);
            if (!has_order()) REAL(_exit)(0);
            REAL(close)(SERVER_FD);
            REAL(close)(ANSWER_FD);
            errno = error;
            return;
        }
        /* Whoever waits for an answer sees that nobody is left to give one. */
        if (pid < 0) break;
        while (REAL(waitpid)(pid, &status, 0) < 0 && errno == EINTR) {}
        if (!tell(pid, status)) break;
    }
    REAL(_exit)(0);
}
