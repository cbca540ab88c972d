#include "standstill.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "asking.h"
#include "clock.h"
#include "descriptors.h"
#include "ending.h"
#include "file_locks.h"
#include "fragment.h"
#include "process.h"
#include "readiness.h"
#include "schedule.h"
#include "signals.h"

/* Milliseconds of real time for which somebody from outside is waited for. */
#define PATIENCE 5000
/* Seconds at most, where a busy machine makes each look take longer: less than until it is a hang. */
#define MOST_SECONDS 8
/* ... for which what was sent to an Internet socket is waited for: on a busy machine a thread of the kernel
 * delivers it. */
#define PATIENCE_ON_THE_WAY 200
/* Timers of the kernel that let somebody go on in a row, with nothing else between them. */
#define MOST_TIMERS 100
/* Timeouts in a row, and virtual time, in which nothing else happens. */
#define IDLE_TIMEOUTS 1000
#define IDLE_TIME (3600 * SECOND)

static bool anybody_ready(void) {
    for (uint32_t i = 0; i < segment->alive_count; i++)
        if (is_ready(&TASKS[segment->alive[i]])) return true;
    return false;
}

/* -- tasks that wait for each other ------------------------------------------------------- */

/* Who alone can let a task go on, or NONE. */
static uint32_t awaited_by(const struct task *task) {
    if (task->deadline != NO_DEADLINE) return NONE;
    /* Whoever is cancelled waits for nobody, and at a lock only who is to be may be. */
    if (task->cancellable && (is_cancelled(task) || task->cancel_anywhere)) return NONE;
    uint32_t awaited = NONE;
    bool unlocked_by_owner = !lets_pass(UNLOCK_UNOWNED) && !lets_pass(WAIT_UNOWNED);
    if (task->condition == ENDED) {
        awaited = (uint32_t)task->target;
    } else if (unlocked_by_owner && !(task->resource & TASK_BIT) &&
               (task->condition == UNHELD || task->condition == READABLE ||
                task->condition == WRITABLE)) {
        awaited = RESOURCES[task->resource].owner.task;
    }
    return awaited < segment->tasks && TASKS[awaited].state == ALIVE ? awaited : NONE;
}

bool waits_in_a_circle(const struct task *task) {
    uint32_t next = awaited_by(task);
    for (uint32_t steps = 0; next != NONE && steps <= segment->alive_count; steps++) {
        if (&TASKS[next] == task) return true;
        next = awaited_by(&TASKS[next]);
    }
    return false;
}

void finish_in_a_circle(void) {
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        struct task *task = &TASKS[segment->alive[i]];
        /* The search is to know that it had still something to do. */
        if (is_ready(task) || task->deadline != NO_DEADLINE) task->condition = ALWAYS;
    }
    finish(DEADLOCK, NONE, "%s", "");
}

/* -- tasks that only look around ------------------------------------------------------------ */

/* Whether a task that did such an operation got on, or might have let others get on. */
static bool is_progress(const struct step *step) {
    /* Nobody was enabled: a timeout fired. */
    if (!step->enabled) return false;
    switch ((enum kind)step->kind) {
    case SLEEP: case YIELD: case INSPECT: case CONTINUE: case LOAD: case READ:
    case ACQUIRE: case TRY_ACQUIRE: case WAIT: case CALL: case EXTERNAL: case CHOOSE: case FENCE:
        return false;
    case SPAWN: case BEGIN: case END: case JOIN: case RELEASE: case WAKE: case NOTIFY:
    case SET: case PUT: case GET: case WRITE: case STORE: case UPDATE: case BUFFER:
    case FLUSH: case EXECUTE: case SIGNAL: case CANCEL:
        return true;
    }
    return true;
}

/* Looks at the steps since the last time. */
static void look_for_progress(void) {
    bool found = false;
    while (segment->idle_looked_at < segment->steps)
        found |= is_progress(&STEPS[segment->idle_looked_at++]);
    if (!found) return;
    segment->idle_timeouts = segment->helped_by_timers = 0;
    segment->idle_since = segment->now;
}

static bool anybody_waits_for_ever(void) {
    for (uint32_t i = 0; i < segment->alive_count; i++)
        if (TASKS[segment->alive[i]].deadline == NO_DEADLINE) return true;
    return false;
}

/* A client that polls once a second for an answer would go on doing so beside any deadlock. */
static bool idles_for_ever(void) {
    look_for_progress();
    return ++segment->idle_timeouts >= IDLE_TIMEOUTS &&
           segment->now - segment->idle_since >= IDLE_TIME && anybody_waits_for_ever();
}

/* -- both --------------------------------------------------------------------------------- */

static enum outsider find_outsider(void) {
    if (processes_outside()) return CONNECTED;
    enum outsider outsider = descriptors_outsider();
    return outsider < TIMER && segment->timers_run ? TIMER : outsider;
}

static int patience_for(enum outsider outsider) {
    switch (outsider) {
    case NOBODY:
        return 0;
    case ON_THE_WAY:
        return PATIENCE_ON_THE_WAY;
    case MAY_COME:
        return segment->nobody_comes ? PATIENCE_ON_THE_WAY : PATIENCE;
    case TIMER:
        return ++segment->helped_by_timers > MOST_TIMERS ? 0 : PATIENCE;
    case CONNECTED:
        return PATIENCE;
    }
    return 0;
}

static long real_seconds(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Whether anybody can go on whom the kernel, or somebody from outside, lets go on. */
static bool helped(enum outsider *outsider) {
    int patience = -1;
    long began = real_seconds();
    look_for_progress();
    for (int passed = 0; ; passed++) {
        look_closely();
        if (some_have_ended() || anybody_ready()) return true;
        if (patience < 0) patience = patience_for(*outsider = find_outsider());
        /* A child may have ended since: it is nobody outside any more, but somebody waits for it. */
        if (passed >= patience || real_seconds() - began >= MOST_SECONDS) return anybody_ready();
        struct timespec pause = {0, 1000000};
        syscall(SYS_nanosleep, &pause, NULL);
    }
}

/* Ends the execution, and says who it is that is waited for. */
static void finish_outside(void) {
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct task *task = &TASKS[segment->alive[i]];
        if (task->condition != TRIED || task->fd_outside != CONNECTED) continue;
        const struct resource *resource = &RESOURCES[task->resource];
        if (resource->type == DESCRIPTOR)
            finish(STUCK_OUTSIDE, index_of(task),
                   "waits for somebody to open the other end of a FIFO that was there before the test: "
                   "if nobody outside is to do so, let the test make the FIFO anew each time");
        int32_t owner = lock_owner_outside(resource->address);
        if (owner == SOMEBODY)
            finish(STUCK_OUTSIDE, index_of(task),
                   "waits for a lock of a file (F_OFD_SETLK) that somebody holds who is not of the test");
        if (owner)
            finish(STUCK_OUTSIDE, index_of(task),
                   "waits for a lock of a file that process %d holds, which is not of the test", owner);
    }
    if (processes_outside())
        finish(STUCK_OUTSIDE, segment->running,
               "waits for a process that can't be controlled, such as a program that is linked "
               "statically; it took too long");
    finish(STUCK_OUTSIDE, segment->running, "waits for something outside our control");
}

/* -- in a run with live rounds, for as long as it takes ------------------------------------------- */

/* Nanoseconds between two looks: few at first, as an answer may be on its way. */
#define FIRST_PAUSE 20000
#define LONGEST_PAUSE 1000000

static uint64_t first_deadline(void) {
    uint64_t first = NO_DEADLINE;
    for (uint32_t i = 0; i < segment->alive_count; i++)
        if (TASKS[segment->alive[i]].deadline < first) first = TASKS[segment->alive[i]].deadline;
    return first;
}

/* A signal that ends the program, or stops it, must not wait for anybody. */
static void let_fatal_signals_in(const uint64_t *before) {
    sigset_t pending;
    if (sigpending(&pending) < 0) return;
    uint64_t handled = PROCESSES[this_process].handled;
    for (int number = 1; number < 65; number++)
        if (number != NUDGE && sigismember(&pending, number) == 1 && !(handled >> (number - 1) & 1)) {
            signals_let_in(before);
            uint64_t again;
            signals_hold(&again);
            return;
        }
}

static bool anybody_waits_for_signals(void) {
    for (uint32_t i = 0; i < segment->alive_count; i++)
        if (TASKS[segment->alive[i]].condition == SIGNAL_SENT) return true;
    return false;
}

/* While somebody outside may let a task go on, time passes as it does in reality; else it jumps.  Whether somebody can
 * go on: a task, or the one whose timeout is first. */
static bool waits_in_reality(bool timed, const uint64_t *before) {
    uint64_t began = real_now(), from = segment->now, pause = FIRST_PAUSE;
    uint64_t deadline = timed ? first_deadline() : NO_DEADLINE;
    for (;;) {
        look_closely();
        if (some_have_ended() || anybody_ready()) return true;
        uint64_t passed = real_now() - began;
        enum outsider outsider = find_outsider();
        if (outsider < MAY_COME && anybody_waits_for_signals()) outsider = MAY_COME;
        bool gets_there = outsider == ON_THE_WAY && passed < PATIENCE_ON_THE_WAY * (SECOND / 1000);
        /* A child may have ended since: it is nobody outside any more, but somebody waits for it. */
        if (outsider < MAY_COME && !gets_there) return timed || anybody_ready();
        if (is_fragment) fragment_over(AT_WAIT);
        live->met_outside |= outsider >= MAY_COME;
        if (outsider >= MAY_COME) clock_advance(from + passed, false);
        if (timed && segment->now >= deadline) return true;
        let_fatal_signals_in(before);
        struct timespec rest = {0, (long)pause};
        syscall(SYS_nanosleep, &rest, NULL);
        if (pause < LONGEST_PAUSE) pause += pause / 4;
    }
}

static void nobody_enabled_live(bool timed) {
    uint64_t before = 0;
    signals_hold(&before);
    if (!is_fragment) live->waits = 1;
    bool goes_on = waits_in_reality(timed, &before);
    if (!is_fragment) live->waits = 0;
    signals_let_in(&before);
    if (!goes_on) finish(DEADLOCK, NONE, "%s", "");
}

void nothing_enabled(bool timed) {
    if (live) {
        nobody_enabled_live(timed);
        return;
    }
    if (timed && !idles_for_ever()) return;
    /* A handler must not run while it is decided who runs. */
    uint64_t before = 0;
    enum outsider outsider = NOBODY;
    signals_hold(&before);
    bool goes_on = helped(&outsider);
    signals_let_in(&before);
    if (goes_on) {
        segment->idle_timeouts = 0;
        return;
    }
    if (outsider >= MAY_COME) segment->waited_in_vain = 1;
    if (outsider == CONNECTED) finish_outside();
    if (outsider == TIMER && segment->helped_by_timers <= MOST_TIMERS)
        finish(STUCK_OUTSIDE, segment->running, "waits for a timer of the kernel, in real time");
    if (segment->not_modelled & OWN_THREADS)
        finish(STUCK_OUTSIDE, segment->running,
               "waits, maybe for a thread outside our control by which the C library tells of something "
               "(SIGEV_THREAD)");
    finish(DEADLOCK, NONE, "%s", "");
}
