#include "process.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "accesses.h"
#include "ending.h"
#include "environment.h"
#include "faults.h"
#include "fiber.h"
#include "forgetting.h"
#include "live.h"
#include "past_stores.h"
#include "mutex.h"
#include "reading.h"
#include "real.h"
#include "schedule.h"
#include "short_way.h"
#include "signals.h"
#include "stack.h"
#include "store_buffer.h"
#include "thread.h"
#include "timers.h"

#define MILLISECOND 1000000L

static struct process *own(void) { return &PROCESSES[this_process]; }

static void rest(long nanoseconds) {
    struct timespec pause = {0, nanoseconds};
    syscall(SYS_nanosleep, &pause, NULL);
}

static uint32_t append(uint32_t parent) {
    bool has_room = segment->processes < segment->most_processes;
    uint32_t index = has_room ? segment->processes : forgotten_process();
    if (index == NONE)
        finish(TOO_BIG, NONE, "an execution with more than %u processes", segment->most_processes);
    /* Beside live rounds other processes go their own way. */
    if (segment->processes) prefers_kernel_threads("another process");
    if (segment->processes) {
        store_buffers_end();
        past_stores_end();
    }
    if (has_room) segment->processes++;
    PROCESSES[index].parent = parent;
    PROCESSES[index].state = PREPARED;
    look_again();
    return index;
}

/* This thread is a task from now on. */
static void become(struct task *task) {
    current = task;
    task->thread = (int32_t)syscall(SYS_gettid);
    task->handle = (uint64_t)pthread_self();
    task->begun = 1;
    thread_watch_end();
}

/* -- the beginning -------------------------------------------------------------------- */

/* The record of this process, which the one that started it may not have written yet. */
static uint32_t find_own(void) {
    int32_t pid = (int32_t)syscall(SYS_getpid);
    for (int patience = 0; patience < 2000; patience++) {
        for (uint32_t i = segment->processes; i-- > 0;)
            if (PROCESSES[i].pid == pid && PROCESSES[i].state == ALIVE) return i;
        /* Beside live rounds only the first one takes part, whatever its children have in their environment. */
        if (live) break;
        rest(MILLISECOND);
    }
    return NONE;
}

/* After an exec the process has other code and other memory: it gets a new record. */
static void begin_again(uint32_t index) {
    struct process *before = &PROCESSES[index];
    struct task *task = &TASKS[before->main_task];
    mutexes_of_process(index);
    for (uint32_t i = 0; i < segment->tasks; i++)
        if (TASKS[i].process == index && TASKS[i].state == ALIVE && &TASKS[i] != task)
            task_remove(&TASKS[i]);
    uint32_t again = append(before->parent);
    PROCESSES[again].pid = before->pid;
    PROCESSES[again].signals = before->signals;
    PROCESSES[again].main_task = before->main_task;
    PROCESSES[again].state = ALIVE;
    for (uint32_t i = 0; i < segment->processes; i++)
        if (PROCESSES[i].parent == index) PROCESSES[i].parent = again;
    before->state = OVER;
    before->collected = 1;
    segment->releases++;
    this_process = task->process = again;
    task->cancelled = task->cancel_disabled = task->cancel_anywhere = task->unwinds = 0;
}

bool process_begin(void) {
    if (!segment->started) {
        this_process = append(NONE);
        struct process *process = own();
        process->pid = (int32_t)syscall(SYS_getpid);
        process->state = ALIVE;
        process->joined = 1;
        struct task *task = task_prepare(NULL, this_process);
        task->main = 1;
        process->main_task = index_of(task);
        signals_record();
        segment->running = index_of(task);
        task_enliven(task);
        become(task);
        fibers_begin();
        early = true;
        return true;
    }
    uint32_t index = find_own();
    if (index == NONE || (live && !PROCESSES[index].joined)) return false;
    if (PROCESSES[index].joined) {
        begin_again(index);
        become(&TASKS[own()->main_task]);
        if (live) fibers_begin();
    } else {
        this_process = index;
        become(&TASKS[own()->main_task]);
        wait_for_turn(current);
    }
    own()->joined = 1;
    return true;
}

void end_with_starter(void) {
    if (getppid() == segment->starter) prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* -- children --------------------------------------------------------------------------- */

struct task *process_prepare(uint64_t site) {
    uint32_t index = append(this_process);
    struct task *task = task_prepare(current, index);
    task->main = 1;
    task->spawned_at = task->site = site;
    PROCESSES[index].main_task = index_of(task);
    perform(SPAWN, TASK_BIT | index_of(task), site);
    return task;
}

void process_started(struct task *task, pid_t pid, bool takes_part) {
    struct process *process = &PROCESSES[task->process];
    process->pid = (int32_t)pid;
    process->state = ALIVE;
    if (takes_part) task_enliven(task);
    else task->state = OVER;
    after_release(TASK_BIT | index_of(task), task->spawned_at);
}

void process_not_started(struct task *task) {
    PROCESSES[task->process].state = OVER;
    PROCESSES[task->process].collected = 1;
    task_discard(task);
}

/* The child that this thread is about to fork, and what is kept for it. */
static __thread struct {
    struct task *task;
    uint32_t copies;
} forked;

/* The last of what is done before a fork, and the first after it in the child: what the program has asked
 * for by pthread_atfork, such as to take all locks and to let go of them, is code of the program on
 * either side. */
static void just_before_fork(void) {
    if (!forked.task) return;
    busy = 1;
    forked.copies =
        resources_copy(index_of(current), index_of(forked.task), forked.task->process);
}

static void just_after_fork(void) {
    if (forked.task) busy = 0;
}

static void first_in_child(void) {
    struct task *child = forked.task;
    if (!child) return;
    forked.task = NULL;
    this_process = child->process;
    timers_forget();
    alone = true;
    look_again();
    become(child);
    resources_adopt(forked.copies);
    accesses_forked();
    wait_for_turn(child);
    modules_record();
    busy = 0;
}

void forks_begin(void) {
    static bool begun;
    if (begun) return;
    begun = true;
    pthread_atfork(just_before_fork, just_after_fork, first_in_child);
}

/* What pthread_atfork calls.  Libraries may do so before the shim begins (jemalloc does), and what they ask for
 * would come first in a child, which would then act as the task of its parent. */
EXPORT int __register_atfork(void (*before)(void), void (*after)(void), void (*in_child)(void),
                             void *module) {
    forks_begin();
    return REAL(__register_atfork)(before, after, in_child, module);
}

/* This process takes part no more: all that it does is the affair of whoever started it. */
static void go_free(void) {
    environment_go_free();
    current = NULL;
    on_fibers = false;
    live = NULL;
    segment = NULL;
}

pid_t process_fork(uint64_t site) {
    struct task *child = process_prepare(site);
    uint32_t index = child->process;
    if (fails(FORK_FAULT, site)) {
        process_not_started(child);
        return -1;
    }
    PROCESSES[index].joined = !live;
    /* Before the child has run, others may ask what a signal would do to it. */
    PROCESSES[index].handled = own()->handled;
    PROCESSES[index].restarting = own()->restarting;
    if (live) live->has_children = 1;
    else forked.task = child;
    int was_busy = busy;
    busy = 0;
    pid_t pid = REAL(fork)();
    busy = was_busy;
    if (pid == 0 && live) go_free();
    if (pid == 0) return 0;
    forked.task = NULL;
    if (pid > 0) process_started(child, pid, !live);
    else process_not_started(child);
    return pid;
}

/* What the kernel says of a process: its state, X if there is none. */
static char state_of(int32_t pid) {
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (read_start(path, text, sizeof text) <= 0) return 'X';
    const char *state = strrchr(text, ')');
    if (!state) return 'R';
    state += 2;
    if (*state != 'Z') return *state;
    /* Where only the first thread has ended others may go on, and keep descriptors open. */
    const char *threads = state;
    for (int field = 0; threads && field < 17; field++) threads = strchr(threads + 1, ' ');
    return threads && atoi(threads) > 1 ? 'R' : 'Z';
}

bool process_is_gone(int32_t pid) {
    char state = state_of(pid);
    return state == 'Z' || state == 'X';
}

bool process_cannot_answer(int32_t pid) {
    char state = state_of(pid);
    return state == 'Z' || state == 'X' || state == 'T';
}

bool some_have_ended(void) {
    bool any = false;
    for (uint32_t i = 1; i < segment->processes; i++) {
        const struct process *process = &PROCESSES[i];
        if (i == this_process || process->state != ALIVE || !process->joined) continue;
        if (!process_is_gone(process->pid)) continue;
        process_is_over(i);
        any = true;
    }
    return any;
}

bool child_is_meant(const struct process *child, int32_t pid) {
    if (pid == -1 || child->pid == pid) return true;
    /* Also one that nobody has collected yet has its group. */
    return pid < -1 && syscall(SYS_getpgid, child->pid) == -(long)pid;
}

bool child_ended(uint32_t process, int32_t pid) {
    bool any = false;
    for (uint32_t i = 0; i < segment->processes; i++) {
        struct process *child = &PROCESSES[i];
        if (child->parent != process || child->collected || !child_is_meant(child, pid)) continue;
        any = true;
        if (child->state == OVER) return true;
        if (child->state == ALIVE && !child->joined && process_is_gone(child->pid)) {
            process_is_over(i);
            return true;
        }
    }
    /* Without a child the real call fails at once. */
    return !any;
}

bool processes_outside(void) {
    for (uint32_t i = 0; i < segment->processes; i++) {
        const struct process *process = &PROCESSES[i];
        if (process->state == ALIVE && TASKS[process->main_task].state == OVER &&
            !process->joined && !process_is_gone(process->pid))
            return true;
    }
    return false;
}

/* -- the end ------------------------------------------------------------------------------ */

void process_is_over(uint32_t process) {
    for (uint32_t i = 0; i < segment->tasks; i++)
        if (TASKS[i].process == process && TASKS[i].state == ALIVE) task_remove(&TASKS[i]);
    mutexes_of_process(process);
    PROCESSES[process].state = OVER;
    if (PROCESSES[process].parent != NONE) signal_send(PROCESSES[process].parent, SIGCHLD);
    segment->changes++;
    segment->fd_changes++;
    segment->releases++;
}

void process_leave(void) {
    /* With the first process everything ends. */
    if (!current || this_process == 0 || segment->finished) return;
    GUARD;
    process_is_over(this_process);
    segment->dying = own()->pid;
    current = NULL;
    schedule_elsewhere();
}

void wait_for_the_dying(void) {
    int32_t pid = segment->dying;
    if (!pid) return;
    segment->dying = 0;
    /* On a busy machine that may take long. */
    for (int patience = 0; patience < 10000 && !process_is_gone(pid); patience++)
        rest(patience < 1000 ? 20000 : MILLISECOND);
    segment->fd_changes++;
}

/* The running process died, with the turn: somebody has to pass it on. */
static void take_over(const struct task *task) {
    uint32_t running = segment->running;
    uint32_t process = TASKS[running].process;
    if (process == task->process || !process_is_gone(PROCESSES[process].pid)) return;
    if (__atomic_exchange_n(&segment->taking_over, 1, __ATOMIC_ACQ_REL)) return;
    if (segment->running == running && PROCESSES[process].state == ALIVE) {
        process_is_over(process);
        schedule_after(running);
    }
    __atomic_store_n(&segment->taking_over, 0, __ATOMIC_RELEASE);
}

void processes_wait(struct task *task) {
    if (segment->processes == 1) {
        syscall(SYS_futex, &task->turn, FUTEX_WAIT, PARKED, NULL, NULL, 0);
        return;
    }
    struct timespec patience = {0, 100 * MILLISECOND};
    long result = syscall(SYS_futex, &task->turn, FUTEX_WAIT, PARKED, &patience, NULL, 0);
    if (result >= 0 || errno != ETIMEDOUT) return;
    /* With the first process everything ends; and whoever would see to that may be gone, too. */
    if (process_is_gone(PROCESSES[0].pid)) syscall(SYS_exit_group, 0);
    take_over(task);
}
