#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "accesses.h"
#include "addresses.h"
#include "cancellation.h"
#include "process_state.h"
#include "reading.h"
#include "real.h"
#include "clock.h"
#include "debug_registers.h"
#include "ended_threads.h"
#include "fiber.h"
#include "killing.h"
#include "live.h"
#include "schedule.h"
#include "snapshot.h"
#include "spare.h"
#include "timeouts.h"
#include "timers.h"

static void on_nudge(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    snapshot_look();
    /* It is blocked, or spins, in a way that only the kernel can share the processor out. */
    prefers_kernel_threads("a standstill");
    if (!controlled() || busy || segment->running != index_of(current)) return;
    if (hooks && *hooks->working) return;
    int error = errno;
    GUARD;
    uint64_t site = 0;
#if defined(__x86_64__)
    site = (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    site = (uint64_t)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
#endif
    segment->nudges++;
    segment->nudge_steps++;
    time_has_passed();
    perform(YIELD, current_resource(), site);
    errno = error;
}

void signals_begin(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_nudge;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
    REAL(sigaction)(NUDGE, &action, NULL);
}

static uint64_t bit(int number) { return number > 0 && number < 65 ? 1ULL << (number - 1) : 0; }

static uint64_t bits(const sigset_t *set) {
    uint64_t found = 0;
    for (int number = 1; number < 65; number++)
        if (sigismember(set, number) == 1) found |= bit(number);
    return found;
}

/* What the program has handlers for, and which of these have SA_RESTART: some are installed before the
 * execution begins, and so before there is a record of this process. */
static uint64_t handled, restarting;

void signals_record(void) {
    PROCESSES[this_process].handled = handled;
    PROCESSES[this_process].restarting = restarting;
    if (handled) segment->signals_matter = 1;
}

static void note_handler(int number, sighandler_t handler, bool restarts) {
    if (!segment) return;
    bool is_handled = handler != SIG_DFL && handler != SIG_IGN;
    handled &= ~bit(number);
    restarting &= ~bit(number);
    if (is_handled) handled |= bit(number);
    if (restarts) restarting |= bit(number);
    signals_record();
    timers_look_at_handlers();
    if (is_handled) fibers_keep_masks();
}

/* The functions that set them work before there is a task, too. */
static void signals_operation(enum kind kind, enum process_state state, uint64_t site) {
    if (!controlled() || busy) return;
    GUARD;
    process_state_operation(kind, state, site);
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *before) {
    if ((segment && number == NUDGE) || (number == SIGTRAP && debug_registers_are_set())) {
        errno = EINVAL;
        return -1;
    }
    signals_operation(action ? SET : INSPECT, SIGNAL_HANDLERS, SITE);
    if (action) note_handler(number, action->sa_handler, action->sa_flags & SA_RESTART);
    return REAL(sigaction)(number, action, before);
}

EXPORT sighandler_t signal(int number, sighandler_t handler) {
    if (number == SIGTRAP && debug_registers_are_set()) {
        errno = EINVAL;
        return SIG_ERR;
    }
    signals_operation(SET, SIGNAL_HANDLERS, SITE);
    /* As the C library's function has it. */
    note_handler(number, handler, true);
    return REAL(signal)(number, handler);
}

/* What `signal` is for programs that ask for X/Open's: the handler is for one signal, and there is no SA_RESTART.  */
EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler) {
    if (number == SIGTRAP && debug_registers_are_set()) {
        errno = EINVAL;
        return SIG_ERR;
    }
    signals_operation(SET, SIGNAL_HANDLERS, SITE);
    note_handler(number, handler, false);
    return REAL(__sysv_signal)(number, handler);
}

static const sigset_t *without_nudge(const sigset_t *set, sigset_t *copy, int how) {
    if (!segment || !set || how == SIG_UNBLOCK) return set;
    *copy = *set;
    sigdelset(copy, NUDGE);
    if (debug_registers_are_set()) sigdelset(copy, SIGTRAP);
    /* A filter of system calls would kill who blocks it. */
    sigdelset(copy, SIGSYS);
    return copy;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
    sigset_t copy;
    /* Who takes a signal that is sent to the process depends on those of all its threads. */
    if (set) signals_operation(SET, SIGNAL_MASKS, SITE);
    fibers_keep_masks();
    return REAL(pthread_sigmask)(how, without_nudge(set, &copy, how), before);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *before) {
    sigset_t copy;
    if (set) signals_operation(SET, SIGNAL_MASKS, SITE);
    fibers_keep_masks();
    return REAL(sigprocmask)(how, without_nudge(set, &copy, how), before);
}

void signals_hold(uint64_t *before) {
    /* By number: the C library keeps some signals, such as that of pthread_cancel, to itself.
     * A trap is for whoever makes the system call. */
    static const uint64_t all = ~(1ULL << (SIGSYS - 1));
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, before, sizeof all);
}

void signals_let_in(const uint64_t *before) {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, sizeof *before);
}

/* -- waiting for signals ------------------------------------------------------------------ */

/* By task, the mask with which it waits in place of its own. */
static struct {
    bool is_set;
    uint64_t bits;
} masks_of_waits[MOST_TASKS];

void signals_look(struct task *task) {
    sigset_t set;
    /* What a handler has had since is not pending any more. */
    uint64_t left = sigpending(&set) == 0 ? bits(&set) : 0;
    task->signals &= left;
    PROCESSES[task->process].signals &= left;
    if (masks_of_waits[index_of(task)].is_set) task->mask = masks_of_waits[index_of(task)].bits;
    else task->mask = REAL(pthread_sigmask)(SIG_BLOCK, NULL, &set) == 0 ? bits(&set) : 0;
}

void signals_exchange(struct other_mask *other, const sigset_t *mask) {
    *other = (struct other_mask){.is_held = mask && segment->signals_matter};
    if (!mask) return;
    other->given = without_nudge(mask, &other->usable, SIG_SETMASK);
    other->bits = bits(other->given);
    fibers_keep_masks();
    if (other->is_held) signals_hold(&other->before);
    /* Nobody has a handler, and each signal that the mask lets in kills who waits. */
    else syscall(SYS_rt_sigprocmask, SIG_SETMASK, &other->bits, &other->before, sizeof other->bits);
}

void signals_put_back(const struct other_mask *other) {
    if (!other->given) return;
    int error = errno;
    signals_wait_with(NULL);
    signals_let_in(&other->before);
    errno = error;
}

bool signals_come_with(const struct other_mask *other) {
    sigset_t pending;
    return other->is_held && sigpending(&pending) == 0 &&
           bits(&pending) & ~other->bits & PROCESSES[this_process].handled;
}

void signals_wait_with(const struct other_mask *other) {
    bool is_set = other && other->is_held;
    masks_of_waits[index_of(current)].is_set = is_set;
    if (is_set) masks_of_waits[index_of(current)].bits = other->bits;
}

uint64_t signals_pending(int thread, bool own) {
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
    read_start(path, text, sizeof text);
    const char *found = strstr(text, own ? "SigPnd:" : "ShdPnd:");
    return found ? strtoull(found + strlen("SigPnd:"), NULL, 16) : 0;
}

/* What is pending for the process as a whole.  The kernel tells a thread of its own in the same breath. */
static uint64_t pending_for_all(void) {
    sigset_t set;
    if (sigpending(&set) < 0 || !bits(&set)) return 0;
    return signals_pending((int)syscall(SYS_gettid), false);
}

void signals_gather(const struct task *task) {
    struct process *process = &PROCESSES[task->process];
    process->signals |= pending_for_all();
    uint64_t matter = task->condition == SIGNAL_SENT ? task->target : 0;
    if (timer_ends_soon(process->handled | matter)) segment->timers_run = 1;
}

static uint64_t handled_with(const struct task *task, uint64_t mask) {
    const struct process *process = &PROCESSES[task->process];
    return (task->signals | process->signals) & process->handled & ~mask;
}

bool signals_deliverable(const struct task *task, uint64_t mask) { return handled_with(task, mask) != 0; }

static uint64_t interrupting(const struct task *task) { return handled_with(task, task->mask); }

bool signal_interrupts(const struct task *task) { return interrupting(task) != 0; }

bool signal_restarts(const struct task *task) {
    return !(interrupting(task) & ~PROCESSES[task->process].restarting);
}

/* Those that come of what the thread itself does. */
static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPIPE};

bool signals_may_come_before(bool restarts) {
    const struct process *process = &PROCESSES[this_process];
    uint64_t ending = process->handled;
    if (restarts) ending &= ~process->restarting;
    for (size_t i = 0; i < sizeof own_faults / sizeof *own_faults; i++) ending &= ~bit(own_faults[i]);
    /* With another mask for the wait they are held until then: that is what ppoll and the like are for. */
    if (!ending || masks_of_waits[index_of(current)].is_set) return false;
    sigset_t mask;
    return REAL(pthread_sigmask)(SIG_BLOCK, NULL, &mask) == 0 && ending & ~bits(&mask);
}

void signal_send(uint32_t process, int number) { PROCESSES[process].signals |= bit(number); }

bool signal_is_pending(const struct task *task) {
    uint64_t sent = task->signals | PROCESSES[task->process].signals;
    if (sent & task->target) return true;
    /* From outside, or by a timer. */
    return task->process == this_process && pending_for_all() & task->target;
}

static enum woken wait_until_sent(uint64_t set, uint64_t deadline, uint8_t signals, uint64_t site) {
    prefers_kernel_threads("a wait for signals");
    signals_look(current);
    struct waiting waiting = {SIGNAL_SENT, set, deadline, true, signals};
    enum woken woken = perform_when(WAIT, current_resource(), site, waiting);
    cancellation_point();
    return woken;
}

/* The current task has taken a signal: the kernel gives it its own first. */
static void note_taken(int number) {
    if (number <= 0) return;
    uint64_t *sent = current->signals & bit(number) ? &current->signals : &PROCESSES[this_process].signals;
    *sent &= ~bit(number);
    /* Those above are queued. */
    if (number < SIGRTMIN) return;
    int thread = (int)syscall(SYS_gettid);
    current->signals |= signals_pending(thread, true) & bit(number);
    PROCESSES[this_process].signals |= signals_pending(thread, false) & bit(number);
}

EXPORT int sigwait(const sigset_t *set, int *number) {
    CONTROLLED(sigwait, set, number);
    REFUSED_IF(leads_nowhere(set), sigwait, set, number);
    wait_until_sent(bits(set), NO_DEADLINE, NO_SIGNAL, SITE);
    int result = REAL(sigwait)(set, number);
    if (result == 0) note_taken(*number);
    return result;
}

static int wait_for_information(const sigset_t *set, siginfo_t *info, uint64_t deadline, uint64_t site) {
    /* Whether the handler has SA_RESTART or not. */
    if (wait_until_sent(bits(set), deadline, ANY_SIGNAL, site) == INTERRUPTED) {
        errno = EINTR;
        return -1;
    }
    struct timespec now = {0, 0};
    int number = deadline == NO_DEADLINE ? REAL(sigwaitinfo)(set, info)
                                         : REAL(sigtimedwait)(set, info, &now);
    note_taken(number);
    if (number > 0 && info) timer_signal_taken(info);
    return number;
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info) {
    CONTROLLED(sigwaitinfo, set, info);
    REFUSED_IF(leads_nowhere(set), sigwaitinfo, set, info);
    return wait_for_information(set, info, NO_DEADLINE, SITE);
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *time) {
    CONTROLLED(sigtimedwait, set, info, time);
    REFUSED_IF(leads_nowhere(set) || misleads(time), sigtimedwait, set, info, time);
    return wait_for_information(set, info, time ? deadline_after(time) : NO_DEADLINE, SITE);
}

/* Whether a signal that nobody blocks has an effect. */
static bool has_effect(int number) {
    if (PROCESSES[this_process].handled & bit(number)) return true;
    struct sigaction action;
    if (REAL(sigaction)(number, NULL, &action) < 0 || action.sa_handler == SIG_IGN) return false;
    return number != SIGCHLD && number != SIGURG && number != SIGWINCH && number != SIGCONT;
}

/* With another mask until a handler has run. */
static int suspend(const sigset_t *mask, uint64_t site) {
    uint64_t awaited = ~bits(mask);
    for (int number = 1; number < 65; number++)
        if (awaited & bit(number) && !has_effect(number)) awaited &= ~bit(number);
    /* What comes before the real call would be handled before it, and that would wait for ever. */
    uint64_t before;
    signals_hold(&before);
    wait_until_sent(awaited, NO_DEADLINE, NO_SIGNAL, site);
    int result = REAL(sigsuspend)(mask);
    int error = errno;
    signals_look(current);
    signals_let_in(&before);
    errno = error;
    return result;
}

EXPORT int sigsuspend(const sigset_t *mask) {
    CONTROLLED(sigsuspend, mask);
    REFUSED_IF(leads_nowhere(mask), sigsuspend, mask);
    return suspend(mask, SITE);
}

EXPORT int pause(void) {
    CONTROLLED(pause);
    sigset_t mask;
    if (signals_may_come_before(false)) perform(INSPECT, TASK_BIT | index_of(current), SITE);
    REAL(pthread_sigmask)(SIG_BLOCK, NULL, &mask);
    return suspend(&mask, SITE);
}

/* -- sending them ------------------------------------------------------------------------- */

/* Nobody has a handler for a signal, and it is blocked: whoever gets it, waits for it. */
static bool is_waited_for(int number) {
    sigset_t mask;
    return !(PROCESSES[this_process].handled & bit(number)) &&
           REAL(pthread_sigmask)(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, number) == 1;
}

/* Before a signal is sent to a thread. */
static void will_reach(struct task *task, int number, uint64_t site) {
    process_state_operation(INSPECT, SIGNAL_HANDLERS, site);
    perform(SIGNAL, TASK_BIT | index_of(task), site);
    task->signals |= bit(number);
    segment->signals_matter = 1;
}

EXPORT int pthread_kill(pthread_t thread, int number) {
    CONTROLLED(pthread_kill, thread, number);
    struct task *task = task_of_handle((uint64_t)thread);
    if (task && number == 0 && task != current) perform(INSPECT, TASK_BIT | index_of(task), SITE);
    if ((!task || number == 0) && names_ended_thread(thread, SITE, "signal to")) return ESRCH;
    if (task && number == 0 && is_spare(task)) return 0;
    if (!task || number == 0) return REAL(pthread_kill)(thread, number);
    if (!live || !is_waited_for(number)) needs_kernel_threads("pthread_kill");
    will_reach(task, number, SITE);
    if (names_ended_thread(thread, SITE, "signal to")) return ESRCH;
    /* On fibers no signal reaches the kernel's thread of a task that is parked. */
    int result = on_fibers ? (REAL(kill)(getpid(), number) ? errno : 0) : REAL(pthread_kill)(thread, number);
    after_reaching(TASK_BIT | index_of(task), SITE);
    return result;
}

EXPORT int pthread_sigqueue(pthread_t thread, int number, union sigval value) {
    CONTROLLED(pthread_sigqueue, thread, number, value);
    struct task *task = task_of_handle((uint64_t)thread);
    if (!task && names_ended_thread(thread, SITE, "signal to")) return ESRCH;
    if (!task || number == 0) return REAL(pthread_sigqueue)(thread, number, value);
    needs_kernel_threads("pthread_sigqueue");
    will_reach(task, number, SITE);
    if (names_ended_thread(thread, SITE, "signal to")) return ESRCH;
    int result = REAL(pthread_sigqueue)(thread, number, value);
    after_reaching(TASK_BIT | index_of(task), SITE);
    return result;
}

EXPORT int tgkill(pid_t pid, pid_t thread, int number) {
    CONTROLLED(tgkill, pid, thread, number);
    needs_kernel_threads("tgkill");
    struct task *reached = NULL;
    for (uint32_t i = 0; number && i < segment->alive_count; i++) {
        struct task *task = &TASKS[segment->alive[i]];
        if (task->thread != thread) continue;
        will_reach(reached = task, number, SITE);
        break;
    }
    int result = REAL(tgkill)(pid, thread, number);
    if (reached) after_reaching(TASK_BIT | index_of(reached), SITE);
    return result;
}

/* The process that is meant; where it is several, or one outside, the one that sends. */
static uint32_t resource_of(pid_t pid) {
    for (uint32_t i = 0; pid > 0 && i < segment->processes; i++)
        if (PROCESSES[i].pid == pid && PROCESSES[i].state == ALIVE)
            return TASK_BIT | PROCESSES[i].main_task;
    return current_resource();
}

/* Before a signal is sent to a process, or to several (pid below 1). */
static void will_reach_process(pid_t pid, int number, uint64_t site) {
    process_state_operation(INSPECT, SIGNAL_HANDLERS, site);
    perform(SIGNAL, resource_of(pid), site);
    segment->signals_matter = 1;
    for (uint32_t i = 0; i < segment->processes; i++) {
        struct process *process = &PROCESSES[i];
        if (process->state == ALIVE && (process->pid == pid || pid <= 0))
            process->signals |= bit(number);
    }
}

static void has_reached_process(pid_t pid, int number, uint64_t site) {
    int error = errno;
    /* Its handler may have run in this thread already. */
    signals_look(current);
    for (uint32_t i = 0; i < segment->processes; i++)
        if (i != this_process && (PROCESSES[i].pid == pid || pid <= 0)) let_die(i, number);
    after_reaching(resource_of(pid), site);
    errno = error;
}

static int send_to(pid_t pid, int number, uint64_t site) {
    prefers_kernel_threads("kill");
    will_reach_process(pid, number, site);
    int result = REAL(kill)(pid, number);
    has_reached_process(pid, number, site);
    return result;
}

EXPORT int kill(pid_t pid, int number) {
    CONTROLLED(kill, pid, number);
    return number ? send_to(pid, number, SITE) : REAL(kill)(pid, number);
}

EXPORT int killpg(pid_t group, int number) {
    CONTROLLED(killpg, group, number);
    return number && group >= 0 ? send_to(-group, number, SITE) : REAL(killpg)(group, number);
}

EXPORT int sigqueue(pid_t pid, int number, union sigval value) {
    CONTROLLED(sigqueue, pid, number, value);
    if (number == 0) return REAL(sigqueue)(pid, number, value);
    needs_kernel_threads("sigqueue");
    will_reach_process(pid, number, SITE);
    int result = REAL(sigqueue)(pid, number, value);
    has_reached_process(pid, number, SITE);
    return result;
}

EXPORT int raise(int number) {
    CONTROLLED(raise, number);
    prefers_kernel_threads("raise");
    process_state_operation(INSPECT, SIGNAL_HANDLERS, SITE);
    current->signals |= bit(number);
    int result = REAL(raise)(number), error = errno;
    /* Its handler has run, unless it is blocked. */
    signals_look(current);
    errno = error;
    return result;
}
