#include "fragment.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "harm.h"
#include "real.h"
#include "rights.h"
#include "task.h"
#include "trap.h"

bool is_fragment;

static struct {
    struct fragment_report *report;
    uint32_t first, last;      /* its first step, and the first one behind its window */
    uint32_t alive;
} fragment;

/* -- the end ------------------------------------------------------------------------------------ */

static void tell(enum fragment_end end) {
    struct fragment_report *report = fragment.report;
    report->end = end;
    report->steps = segment->steps - fragment.first;
    report->choices = choices_between(fragment.first, segment->steps);
    measure_harm(report, fragment.first, fragment.alive);
    __atomic_store_n(&report->is_written, 1, __ATOMIC_RELEASE);
}

void fragment_over(enum fragment_end end) {
    tell(end);
    for (;;) syscall(SYS_exit_group, 0);
}

static enum fragment_end end_of(enum ending ending) {
    switch (ending) {
    case DEADLOCK: case MISUSE: case ASSERTION:
        return IT_FAILED;
    case CRASH:
        return IT_CRASHED;
    case STUCK_OUTSIDE:
        return AT_WAIT;
    case STEP_LIMIT: case COMES_FURTHER:
        return AT_WINDOW;
    case NOT_ON_FIBERS:
        return AT_OUTSIDE;
    case UNFINISHED: case TOO_BIG: case ASKED:
        break;
    }
    return GOT_LOST;
}

void fragment_ends(enum ending ending, uint32_t task) {
    struct fragment_report *report = fragment.report;
    report->ending = ending;
    report->task = task;
    report->misuse = segment->ending_misuse;
    report->signal = segment->signal;
    fragment_over(end_of(ending));
}

void fragment_exits(void) { tell(AT_EXIT); }

static struct {
    bool is_known;
    void *value;
} results[MOST_TASKS];

void fragment_result(uint32_t task, void *result) {
    results[task].is_known = true;
    results[task].value = result;
}

int fragment_joins(const struct task *task, pthread_t thread, void **result) {
    if (task->detached) return EINVAL;
    if (results[index_of(task)].is_known) {
        if (result) *result = results[index_of(task)].value;
        return 0;
    }
    int error = REAL(pthread_tryjoin_np)(thread, result);
    /* Its end was under way when this copy was made, and does not come here. */
    if (error == EBUSY) fragment_over(AT_OUTSIDE);
    return error;
}

void fragment_visit(void) {
    if (segment->steps >= fragment.last) fragment_over(AT_WINDOW);
}

/* The program finds that it is the process that was copied. */
EXPORT pid_t getpid(void) { return is_fragment ? PROCESSES[this_process].pid : REAL(getpid)(); }

/* -- what would be seen outside -------------------------------------------------------------------- */

#ifdef ARCHITECTURE

/* What the program does at such a signal. */
static struct sigaction action_before;

#define TO_THE_USER(fd) ((fd) == 1 || (fd) == 2)

/* What is printed goes nowhere, but has been written for all that the program can tell.  Anything else is not
 * carried out. */
static void on_call(int number, siginfo_t *info, void *context) {
    long arguments[6];
    trapped_arguments(context, arguments);
    if (info->si_syscall == SYS_write && TO_THE_USER(arguments[0])) {
        trapped_result(context, arguments[2]);
        return;
    }
    if (info->si_syscall == SYS_writev && TO_THE_USER(arguments[0])) {
        const struct iovec *pieces = (const struct iovec *)(uintptr_t)arguments[1];
        long written = 0;
        for (long i = 0; i < arguments[2]; i++) written += (long)pieces[i].iov_len;
        trapped_result(context, written);
        return;
    }
    bool is_private = info->si_syscall == SYS_futex && arguments[1] & FUTEX_PRIVATE_FLAG;
    /* One of a library whose futexes are trapped in the program, too. */
    if (is_private && action_before.sa_flags & SA_SIGINFO) action_before.sa_sigaction(number, info, context);
    else fragment_over(AT_OUTSIDE);
}

/* The filter names this process by a number that no process has. */
#define OWN_NUMBER 0x7FFFFFFFu

static bool hold_back(void) {
    static struct sock_filter rules[MOST_FILTER];
    struct sock_fprog program = {(unsigned short)live->filter_length, rules};
    memcpy(rules, live->filter, live->filter_length * sizeof *rules);
    for (uint32_t i = 0; i < live->filter_length; i++)
        if (rules[i].k == OWN_NUMBER) rules[i].k = (uint32_t)syscall(SYS_getpid);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_call;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    return REAL(sigaction)(SIGSYS, &action, &action_before) == 0 &&
           REAL(prctl)(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           REAL(prctl)(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#else

/* Nobody knows how to answer such a call on other processors; there are no fibers either. */
static bool hold_back(void) { return false; }

#endif

/* -- the beginning ---------------------------------------------------------------------------------- */

/* What is written to the segment from here on is the affair of this process, but for its report: the record of
 * the rounds lies behind everything else. */
static bool leave_segment(void) {
    int fd = rights_descriptor();
    if (fd < 0) return false;
    long memory = syscall(SYS_mmap, segment, segment->at.live, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0);
    return memory == (long)(uintptr_t)segment;
}

bool fragment_begin(struct fragment_report *report, uint32_t window) {
    syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    /* The program has one processor; here nobody else needs it. */
    static uint64_t all[CPU_WORDS];
    memset(all, 0xFF, sizeof all);
    syscall(SYS_sched_setaffinity, 0, sizeof all, all);
    is_fragment = true;
    fragment.report = report;
    fragment.first = segment->steps;
    fragment.last = live_at = segment->steps + window;
    fragment.alive = segment->alive_count;
    return leave_segment() && hold_back();
}
