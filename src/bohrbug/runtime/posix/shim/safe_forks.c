#include "safe_forks.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kept_output.h"
#include "own_call.h"
#include "real.h"
#include "safe_calls.h"
#include "segment.h"
#include "server.h"
#include "touching.h"

/* By these forks are told where their segments begin: two, as two forks may wait at the same time. */
static struct {
    int from, to;
} pipes[2];
static pid_t server;
/* What the kernel knows of the only thread that goes on in a fork. */
static struct {
    long id_at;
    long mutexes, size_of_mutexes;
} thread;
/* Where the input begins: all forks share the position. */
static long input_at;

static void tell(pid_t pid, int status) {
    uint64_t answer = (uint64_t)(uint32_t)pid << 32 | (uint32_t)status;
    if (OWN_CALL(SYS_write, ANSWER_FD, &answer, sizeof answer) != sizeof answer) REAL(_exit)(0);
}

/* A number above those that the program will use. */
static int above(int descriptor) {
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, ANSWER_FD + 1);
    REAL(close)(descriptor);
    return moved;
}

static bool open_pipes(void) {
    for (int i = 0; i < 2; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC)) return false;
        pipes[i].from = above(ends[0]);
        pipes[i].to = above(ends[1]);
        if (pipes[i].from < 0 || pipes[i].to < 0) return false;
    }
    return true;
}

static void look_at_thread(void) {
    long error = OWN_CALL(SYS_get_robust_list, 0, &thread.mutexes, &thread.size_of_mutexes);
    if (error || OWN_CALL(SYS_prctl, PR_GET_TID_ADDRESS, &thread.id_at, 0)) thread.id_at = 0;
}

/* As the C library's _Fork does, by a call that passes the filter: this is made for each execution. */
static pid_t copy(struct forking forking) {
    if (!thread.id_at) return forking.copy();
    const long flags = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD;
    long pid = own_call(SYS_clone, flags, 0, 0, thread.id_at, 0, 0);
    if (pid == 0) OWN_CALL(SYS_set_robust_list, thread.mutexes, thread.size_of_mutexes, 0);
    return (pid_t)pid;
}

/* In a fork: waits for the plan. */
static void begin_execution(struct forking forking, int number) {
    uint64_t start;
    forking.get_ready();
    /* Nobody would tell it if the server had gone before it was asked to end with it. */
    if (OWN_CALL(SYS_getppid, 0, 0, 0) != server) REAL(_exit)(0);
    if (OWN_CALL(SYS_read, pipes[number].from, &start, sizeof start) != sizeof start) REAL(_exit)(0);
    OWN_CALL(SYS_close_range, SERVER_FD, pipes[1].to, 0);
    segment_enter((struct header *)((char *)segment + start));
    safe_calls_begin();
}

/* Takes note of how a plan was executed; false if the next one is not to follow at once. */
static bool finish(struct header *room, int status) {
    bool is_usual = WIFEXITED(status) && !room->given_up;
    bool goes_on = is_usual && output_keep(room);
    OWN_CALL(SYS_lseek, 0, input_at, SEEK_SET);
    room->status = is_usual ? (uint32_t)WEXITSTATUS(status) : 0;
    room->over = goes_on ? PRINTED_KEPT : IN_FILES;
    return goes_on;
}

void safe_forks_run(struct forking forking) {
    server = getpid();
    bool can_be = open_pipes() && safe_calls_in_forks();
    tell(can_be ? server : 0, 1);
    if (!can_be) REAL(_exit)(0);
    look_at_thread();
    input_at = OWN_CALL(SYS_lseek, 0, 0, SEEK_CUR);
    touch_before_forks();
    struct order order;
    int number = 0;
    pid_t next = copy(forking);
    if (next == 0) {
        begin_execution(forking, number);
        return;
    }
    while (OWN_CALL(SYS_read, SERVER_FD, &order, sizeof order) == sizeof order) {
        pid_t pid = 0;
        int status = 0;
        for (uint64_t i = 0; i < order.count; i++) {
            pid = next;
            /* Whoever waits for an answer sees that nobody is left to give one. */
            if (pid < 0) REAL(_exit)(0);
            OWN_CALL(SYS_write, pipes[number].to, &order.starts[i], sizeof order.starts[i]);
            number = !number;
            next = copy(forking);
            if (next == 0) {
                begin_execution(forking, number);
                return;
            }
            while (own_call(SYS_wait4, pid, (long)&status, 0, 0, 0, 0) == -EINTR) {}
            struct header *room = (struct header *)((char *)segment + order.starts[i]);
            if (!finish(room, status)) break;
        }
        tell(pid, status);
    }
    REAL(_exit)(0);
}
