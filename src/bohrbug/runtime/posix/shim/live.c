#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "copies.h"
#include "descriptors.h"
#include "fiber.h"
#include "forgetting.h"
#include "fragment.h"
#include "harm.h"
#include "readiness.h"
#include "rights.h"
#include "short_way.h"
#include "signals.h"
#include "futures.h"

struct live *live;
uint32_t live_at = UINT32_MAX;

/* Looks at which nothing conflicts, after which a round begins all the same. */
#define MOST_LOOKS 4
/* Between two looks at the clock: nanoseconds at least, as a look costs as much as some steps, and steps at most,
 * as the program may slow down at any time. */
#define SHORTEST_GAP 500000
#define LONGEST_GAP 4096
/* Steps by chance before a round, at most. */
#define MOST_APPROACHING 64
/* The pace of the program is measured over as many nanoseconds. */
#define MEASURED 1000000

static struct {
    uint64_t next_at;          /* when the next round may begin */
    uint64_t measured_at, steps_then; /* of the last measurement, counted from the beginning */
    uint64_t per_second;       /* steps */
    uint32_t looks;
    bool is_approaching;
    uint64_t random;
} rounds;

/* A fragment that the program follows. */
static struct {
    bool is_on, is_harmful;
    bool is_whole;             /* none of its steps are forgotten */
    uint32_t first, until;     /* the first step, and the one behind the last */
    uint32_t steps;            /* those of the fragment, as far as they are known */
    uint64_t choices;
} following;

uint64_t real_now(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

void live_begin(void) {
    if (!segment->at.live) return;
    live = TABLE(struct live, live);
    /* Who has given up rights could not open it any more. */
    rights_descriptor();
    rounds.measured_at = real_now();
    /* Not after an exec. */
    if (!live->began) live->followed = NONE;
    if (!live->began) live->began = rounds.measured_at;
    rounds.random = live->seed;
    live_at = 1;
}

/* -- following a fragment ---------------------------------------------------------------------------- */

static void follow(const struct future *future, const struct fragment_report *report) {
    uint32_t step = segment->steps;
    bool is_known = report->is_written;
    following.is_on = following.is_whole = true;
    following.is_harmful = is_harmful(report);
    following.first = step;
    following.steps = is_known ? report->steps : 0;
    following.choices = report->choices;
    /* It fails before the step behind its last one, or while that is chosen. */
    following.until = step + (is_known ? report->steps : live->window) + following.is_harmful;
    live->retired++;
    live->followed = step;
    decide_by(future);
    if (!following.is_harmful) return;
    live->suspect = *report;
    /* This is what the report is going to be about. */
    segment->with_stacks = 1;
}

static void end_following(void) {
    uint32_t end = following.first + following.steps;
    following.is_on = false;
    bool is_same = end <= segment->steps && choices_between(following.first, end) == following.choices;
    live->parted += following.is_whole && !is_same;
    if (following.is_harmful) live->unproved++;
    segment->with_stacks = 0;
    decide_as_usual();
}

void live_forgets(uint32_t count) {
    live_at = live_at > count ? live_at - count : 0;
    following.is_whole &= following.first >= count;
    following.first = following.first > count ? following.first - count : 0;
    following.until = following.until > count ? following.until - count : 0;
}

/* -- a round ------------------------------------------------------------------------------------------ */

static bool is_fatal(int number) {
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
           number == SIGABRT;
}

/* What a fragment could not tell itself. */
static void complete(struct fragment_report *report, const struct copy *copy) {
    int died_of = WIFSIGNALED(copy->status) ? WTERMSIG(copy->status) : 0;
    if (is_fatal(died_of)) {
        report->end = IT_CRASHED;
        report->ending = CRASH;
        report->signal = (uint32_t)died_of;
        report->task = NONE;
    } else if (report->is_written && report->end == AT_EXIT) {
        report->code = WIFEXITED(copy->status) ? WEXITSTATUS(copy->status) : -died_of;
        if (live->has_code && report->code != live->code) report->end = IT_FAILED;
    } else if (!report->is_written) {
        report->end = copy->was_late ? TOO_LONG : died_of == SIGSYS ? AT_OUTSIDE : GOT_LOST;
    }
    live->ends[report->end]++;
}

/* The worst one; the first is what comes without any interference, and another takes its place only if it is
 * worse. */
static uint32_t worst(uint32_t count) {
    struct score most = score_of(&live->reports[0]);
    uint32_t chosen = 0;
    for (uint32_t i = 1; i < count; i++) {
        struct score score = score_of(&live->reports[i]);
        if (!is_worse(&score, &most)) continue;
        most = score;
        chosen = i;
    }
    return chosen;
}

/* How many fragments have ended; in a copy, which has to begin one, UINT32_MAX. */
static uint32_t execute(uint32_t *which) {
    uint32_t done = 0;
    while (done < live->fragments) {
        static struct copy copies[MOST_FRAGMENTS];
        uint32_t made = 0;
        while (made < live->at_once && done + made < live->fragments) {
            *which = done + made;
            if (!copy_make(&copies[made])) break;
            if (!copies[made].process) return UINT32_MAX;
            made++;
        }
        copies_wait(copies, made, live->patience);
        for (uint32_t i = 0; i < made; i++) complete(&live->reports[done + i], &copies[i]);
        done += made;
        if (made < live->at_once && done < live->fragments) {
            live->failed_copies++;
            break;
        }
    }
    return done;
}

static void spend(uint64_t began) {
    uint64_t ended = real_now(), took = ended - began;
    live->spent += took;
    if (took > live->longest) live->longest = took;
    /* It is paid for before the next one begins; what was not spent is not saved up. */
    rounds.next_at = ended + took * (10000 - live->budget) / live->budget;
}

/* Threads of the kernel that have only just been made or let go are not in a copy: nobody would wear a task that is not
 * parked there, or give back a lock of the C library. */
#define MOST_PATIENCE 200

static void let_threads_settle(void) {
    struct stat status;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct task *task = &TASKS[segment->alive[i]];
        if (task != current && task->process == this_process && task->handle) fiber_parked(task);
    }
    for (int i = 0; i < MOST_PATIENCE; i++) {
        if (syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &status, 0) < 0) return;
        if (status.st_nlink - 2 <= segment->alive_count) return;
        syscall(SYS_sched_yield);
    }
}

static void make_round(void) {
    static struct future futures[MOST_FRAGMENTS];
    uint64_t began = real_now(), before = 0;
    int error = errno;
    signals_hold(&before);
    live->waits = 1;
    let_threads_settle();
    draw_futures(futures, live->fragments, &rounds.random, live->window);
    memset(live->reports, 0, live->fragments * sizeof *live->reports);
    uint32_t which = 0, count = execute(&which);
    if (count == UINT32_MAX) {
        if (!fragment_begin(&live->reports[which], live->window)) fragment_over(GOT_LOST);
        decide_by(&futures[which]);
        signals_let_in(&before);
        errno = error;
        return;
    }
    live->rounds++;
    if (count) {
        uint32_t chosen = worst(count);
        const struct fragment_report *report = &live->reports[chosen];
        if (chosen || is_harmful(report)) follow(&futures[chosen], report);
        learn_pairs(report);
    }
    live->waits = 0;
    spend(began);
    signals_let_in(&before);
    errno = error;
}

/* -- when ---------------------------------------------------------------------------------------------- */

/* Whether there is a choice. */
static bool are_several_enabled(void) {
    uint32_t enabled = 0;
    for (uint32_t i = 0; i < segment->alive_count && enabled < 2; i++) {
        struct task *task = &TASKS[segment->alive[i]];
        if (task->condition == FD_READY && task->process == this_process) descriptors_look(task);
        enabled += is_ready(task);
    }
    return enabled >= 2;
}

/* Whether what comes next is likely to depend on the order. */
static bool is_cue(void) {
    if (!are_several_enabled()) return false;
    if (++rounds.looks < MOST_LOOKS && !is_conflict_ahead()) return false;
    rounds.looks = 0;
    return true;
}

/* A fragment ends where it would read what somebody has sent, so that in most of those of a server only one task
 * would be in the middle of something.  The program itself gets some more there: just before a round its tasks take
 * turns by chance, for a few steps. */
static bool has_approached(void) {
    bool was_on_the_way = rounds.is_approaching;
    rounds.is_approaching = !was_on_the_way && are_several_enabled();
    if (was_on_the_way) decide_as_usual();
    if (!rounds.is_approaching) return was_on_the_way;
    struct future by_chance = {.policy = UNIFORM_RANDOM, .seed = draw_bits(&rounds.random)};
    decide_by(&by_chance);
    /* Should it fail there, this is what the report is about. */
    live->followed = segment->steps;
    live_at = segment->steps + 1 + draw_below(&rounds.random, MOST_APPROACHING);
    return false;
}

static bool are_over(uint64_t now) {
    return (live->most_rounds && live->rounds >= live->most_rounds) ||
           (live->nanoseconds && now - live->began >= live->nanoseconds);
}

static void measure_pace(uint64_t now) {
    uint64_t steps = live->forgotten + segment->steps;
    if (now - rounds.measured_at < MEASURED) return;
    rounds.per_second = (steps - rounds.steps_then) * SECOND / (now - rounds.measured_at);
    rounds.measured_at = now;
    rounds.steps_then = steps;
}

/* How many steps to let pass before the next look: half of what the program is likely to do until then.  What comes
 * too early costs little, and what comes too late is lost. */
static uint32_t gap_until(uint64_t moment, uint64_t now) {
    uint64_t wanted = moment > now + SHORTEST_GAP ? moment - now : SHORTEST_GAP;
    uint64_t steps = wanted / 1000 * rounds.per_second / 2 / 1000000;
    return steps < 1 ? 1 : steps > LONGEST_GAP ? LONGEST_GAP : (uint32_t)steps;
}

static void look_after(void) {
    if (following.is_on) {
        if (segment->steps < following.until) {
            live_at = following.until;
            return;
        }
        end_following();
    }
    if (segment->steps >= 2 * live->history) forget_steps(segment->steps - live->history);
    uint64_t now = real_now();
    measure_pace(now);
    bool is_over = !live->fragments || !on_fibers || are_over(now);
    if (is_over && rounds.is_approaching) {
        rounds.is_approaching = false;
        decide_as_usual();
    }
    if (!is_over && current && now >= rounds.next_at) {
        bool has_come = has_approached();
        if (rounds.is_approaching) return;
        if (has_come && is_cue()) make_round();
        if (is_fragment) return;
        now = real_now();
    }
    live_at = segment->steps + (is_over ? LONGEST_GAP : gap_until(rounds.next_at, now));
    if (following.is_on) live_at = following.until;
}

void live_visit(void) {
    if (is_fragment) fragment_visit();
    else look_after();
    look_again();
}
