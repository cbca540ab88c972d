#include "timers.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "addresses.h"
#include "clock.h"
#include "fiber.h"
#include "order.h"
#include "real.h"
#include "schedule.h"
#include "short_way.h"
#include "signals.h"
#include "thread.h"
#include "timer.h"

/* Seconds for which it is worth to wait in real time: what takes longer is there to end what hangs. */
#define SOON 5
/* Of timer_t: no number that the kernel gives, and no address. */
#define FIRST_ID 0x5E000000u
#define NEVER_AGAIN 0

struct timer timers[MOST_TIMERS];

static const int signal_of_itimer[ITIMERS] = {SIGALRM, SIGVTALRM, SIGPROF};

/* One whose signal would end the program is there to end what hangs: it does not come early.  One of processor time
 * does not end what hangs, as that takes none. */
static enum firing firing_of(const struct timer *timer, bool has_fired) {
    bool ends = sends_signals(timer) && !timer->is_blocked &&
                !(PROCESSES[this_process].handled & signal_bit(timer->number));
    if (is_of_processor(timer->clock)) return ends ? NOT_AT_ALL : WITH_PROCESSOR;
    if (ends) return LAST_RESORT;
    return has_fired ? ON_TIME_AGAIN : ON_TIME;
}

void timers_look_at_handlers(void) {
    for (size_t i = 0; i < MOST_TIMERS; i++)
        if (timers[i].task) timers[i].task->fires = firing_of(&timers[i], timers[i].task->fires == ON_TIME_AGAIN);
}

/* The moment of a timer, as the tasks' deadlines have it. */
static uint64_t deadline_of(const struct timer *timer) {
    return timer->deadline + (is_of_processor(timer->clock) ? segment->slept : 0);
}

/* How often it has expired, after its deadline. */
static uint64_t expirations(const struct timer *timer) {
    uint64_t now = clock_now(timer->clock);
    if (!timer->interval || now < timer->deadline) return 1;
    return 1 + (now - timer->deadline) / timer->interval;
}

/* What the task of a timer does whenever it has its turn. */
static void *run_timer(void *own) {
    struct timer *timer = own;
    GUARD;
    for (;;) {
        timer->sleeps = false;
        if (order_is_kept()) order_learn(current_resource());
        uint64_t times = expirations(timer);
        /* One that is set again meanwhile is as new. */
        timer->is_armed = timer->interval != NEVER_AGAIN;
        timer->deadline += times * timer->interval;
        current->fires = firing_of(timer, true);
        timer_fires(timer, times + timer->missed);
        timer->missed = 0;
        timer->sleeps = true;
        struct waiting waiting = {NEVER, timer->number ? signal_bit(timer->number) : 0, deadline_of(timer),
                                  false, false};
        if (timer->is_armed) perform_when(SLEEP, current_resource(), current->spawned_at, waiting);
        else schedule_rest();
    }
    return NULL;
}

/* -- setting -------------------------------------------------------------------------------------- */

static bool make_task(struct timer *timer, uint64_t site) {
    struct task *task = task_prepare(current, this_process);
    task->routine = (uint64_t)(uintptr_t)run_timer;
    task->argument = (uint64_t)(uintptr_t)timer;
    task->spawned_at = task->site = site;
    task->detached = 1;
    strncpy(task->name, timer < timers + ITIMERS ? "alarm" : "timer", NAME_LENGTH - 1);
    /* No signal of the program is for it. */
    static const uint64_t all = ~((UINT64_C(1) << (SIGSYS - 1)) | (UINT64_C(1) << (NUDGE - 1)));
    uint64_t before;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    pthread_t thread;
    bool is_made = thread_make(task, &thread, NULL) == 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    if (!is_made) {
        task_discard(task);
        return false;
    }
    segment->timers++;
    timer->task = task;
    timer->sleeps = true;
    return true;
}

static void disarm(struct timer *timer) {
    timer->is_armed = false;
    if (timer->task && timer->sleeps && timer->task->state == ALIVE) task_remove(timer->task);
}

static void arm(struct timer *timer, uint64_t deadline, uint64_t interval) {
    timer->is_armed = true;
    timer->deadline = deadline;
    timer->interval = interval;
    struct task *task = timer->task;
    if (!timer->sleeps) return;
    task->kind = SLEEP;
    task->resource = TASK_BIT | index_of(task);
    task->condition = NEVER;
    task->target = timer->number ? signal_bit(timer->number) : 0;
    task->deadline = deadline_of(timer);
    task->fires = firing_of(timer, false);
    task->computes = timer->computes;
    if (task->state != ALIVE) task_enliven(task);
    look_again();
}

static struct timespec span(uint64_t nanoseconds) {
    return (struct timespec){(time_t)(nanoseconds / SECOND), (long)(nanoseconds % SECOND)};
}

static uint64_t nanoseconds(const struct timespec *time) {
    return (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
}

/* How long it is until the timer fires, and how often it does. */
static struct itimerspec rest_of(const struct timer *timer) {
    static const struct itimerspec none;
    if (!timer->is_armed) return none;
    uint64_t now = clock_now(timer->clock), left = 1, interval = timer->interval;
    if (timer->deadline > now) left = timer->deadline - now;
    else if (interval) left = interval - (now - timer->deadline) % interval;
    /* Nothing comes of it, so that nobody has noticed. */
    else if (timer->way == IN_SILENCE) return none;
    return (struct itimerspec){span(interval), span(left)};
}

/* As the program asks for it, which takes time, as each reading of a clock does. */
static struct itimerspec read_rest_of(const struct timer *timer) {
    clock_read(timer->clock);
    return rest_of(timer);
}

static int set(struct timer *timer, bool is_absolute, const struct itimerspec *value,
               struct itimerspec *before, uint64_t site) {
    if (!valid_time(&value->it_value) || !valid_time(&value->it_interval)) {
        errno = EINVAL;
        return -1;
    }
    bool arms = value->it_value.tv_sec || value->it_value.tv_nsec;
    if (arms && sends_signals(timer)) {
        prefers_kernel_threads("a timer that sends a signal");
        segment->signals_matter = 1;
        sigset_t mask;
        timer->is_blocked = REAL(pthread_sigmask)(SIG_BLOCK, NULL, &mask) == 0 &&
                            sigismember(&mask, timer->number) == 1;
    }
    if (arms && timer->way != IN_SILENCE && !timer->task && !make_task(timer, site)) {
        errno = EAGAIN;
        return -1;
    }
    if (timer->task) perform(SET, TASK_BIT | index_of(timer->task), site);
    if (before) *before = rest_of(timer);
    disarm(timer);
    timer->missed = timer->late = timer->later = 0;
    if (timer->way == ON_DESCRIPTOR_OF_ITS_OWN) timer_descriptor_clears(timer->fd);
    if (!arms) return 0;
    uint64_t deadline = is_absolute ? deadline_at(timer->clock, &value->it_value)
                                    : deadline_after(&value->it_value);
    if (is_of_processor(timer->clock)) deadline -= deadline < segment->slept ? deadline : segment->slept;
    uint64_t interval = nanoseconds(&value->it_interval);
    if (is_absolute && interval)
        timer->missed = before_beginning(timer->clock, &value->it_value) / interval;
    if (timer->way == IN_SILENCE) {
        timer->is_armed = true;
        timer->deadline = deadline;
        timer->interval = interval;
    } else {
        arm(timer, deadline, interval);
        /* The task may get no further before it is over. */
        after_reaching(TASK_BIT | index_of(timer->task), site);
    }
    return 0;
}

static struct timer *unused_timer(void) {
    for (size_t i = ITIMERS; i < MOST_TIMERS; i++)
        if (!timers[i].is_used && !timers[i].task) return &timers[i];
    /* Its task has nothing to do any more, and begins again for another timer. */
    for (size_t i = ITIMERS; i < MOST_TIMERS; i++)
        if (!timers[i].is_used && timers[i].sleeps) return &timers[i];
    return NULL;
}

/* -- alarm and setitimer -------------------------------------------------------------------------- */

static struct timer *itimer(int which) {
    struct timer *timer = &timers[which];
    timer->is_used = true;
    timer->way = TO_PROCESS;
    timer->number = signal_of_itimer[which];
    timer->clock = which == ITIMER_REAL ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
    timer->computes = NONE;
    return timer;
}

static struct itimerval rounded(const struct itimerspec *time) {
    return (struct itimerval){
        {time->it_interval.tv_sec, time->it_interval.tv_nsec / 1000},
        {time->it_value.tv_sec, (time->it_value.tv_nsec + 999) / 1000},
    };
}

static int set_itimer(int which, const struct itimerval *value, struct itimerval *before,
                      uint64_t site) {
    struct itimerspec wanted = {{0, 0}, {0, 0}}, rest;
    if (value)
        wanted = (struct itimerspec){
            {value->it_interval.tv_sec, value->it_interval.tv_usec * 1000},
            {value->it_value.tv_sec, value->it_value.tv_usec * 1000},
        };
    if (set(itimer(which), false, &wanted, &rest, site) < 0) return -1;
    if (before) *before = rounded(&rest);
    return 0;
}

EXPORT int setitimer(__itimer_which_t which, const struct itimerval *value,
                     struct itimerval *before) {
    CONTROLLED(setitimer, which, value, before);
    if ((int)which < 0 || (int)which >= ITIMERS) return REAL(setitimer)(which, value, before);
    if (misleads(value)) return bad_address();
    return set_itimer((int)which, value, before, SITE);
}

EXPORT int getitimer(__itimer_which_t which, struct itimerval *value) {
    CONTROLLED(getitimer, which, value);
    if ((int)which < 0 || (int)which >= ITIMERS) return REAL(getitimer)(which, value);
    if (leads_nowhere(value)) return bad_address();
    struct itimerspec rest = read_rest_of(&timers[which]);
    *value = rounded(&rest);
    return 0;
}

EXPORT unsigned alarm(unsigned seconds) {
    CONTROLLED(alarm, seconds);
    struct itimerval wanted = {{0, 0}, {seconds, 0}}, before = {{0, 0}, {0, 0}};
    if (set_itimer(ITIMER_REAL, &wanted, &before, SITE) < 0) return 0;
    return (unsigned)before.it_value.tv_sec + (before.it_value.tv_usec > 0);
}

EXPORT useconds_t ualarm(useconds_t value, useconds_t interval) {
    CONTROLLED(ualarm, value, interval);
    struct itimerval before = {{0, 0}, {0, 0}};
    struct itimerval wanted = {{interval / 1000000, interval % 1000000},
                               {value / 1000000, value % 1000000}};
    if (set_itimer(ITIMER_REAL, &wanted, &before, SITE) < 0) return 0;
    return (useconds_t)(before.it_value.tv_sec * 1000000 + before.it_value.tv_usec);
}

/* -- timer_create --------------------------------------------------------------------------------- */

/* The task whose time of the processor a clock counts, or NONE. */
static uint32_t whose_time(clockid_t clock) {
    if (clock == CLOCK_THREAD_CPUTIME_ID) return index_of(current);
    /* As the kernel makes them: the number, inverted, and whether it is that of a thread. */
    if (clock >= 0 || !(clock & 4)) return NONE;
    int thread = ~(clock >> 3);
    for (uint32_t i = 0; thread && i < segment->alive_count; i++) {
        const struct task *task = &TASKS[segment->alive[i]];
        if (task->process == this_process && task->thread == thread) return segment->alive[i];
    }
    return index_of(current);
}

static struct timer *known(timer_t id) {
    uintptr_t number = (uintptr_t)id - FIRST_ID;
    return number < MOST_TIMERS && timers[number].is_used ? &timers[number] : NULL;
}

EXPORT int timer_create(clockid_t clock, struct sigevent *event, timer_t *id) {
    CONTROLLED(timer_create, clock, event, id);
    if (clock_refuses(clock)) {
        errno = clock_refuses(clock);
        return -1;
    }
    struct timer *timer = unused_timer();
    if (!timer) {
        errno = EAGAIN;
        return -1;
    }
    struct task *task = timer->task;
    *timer = (struct timer){.is_used = true, .clock = clock, .task = task, .sleeps = task,
                            .computes = whose_time(clock)};
    *id = (timer_t)(uintptr_t)(FIRST_ID + (uintptr_t)(timer - timers));
    timer->number = event ? event->sigev_signo : SIGALRM;
    if (event) timer->value = event->sigev_value;
    else timer->value.sival_ptr = *id;
    switch (event ? event->sigev_notify : SIGEV_SIGNAL) {
    case SIGEV_SIGNAL:
        timer->way = TO_PROCESS;
        break;
    case SIGEV_THREAD_ID:
        timer->way = TO_THREAD;
        timer->thread = event->_sigev_un._tid;
        break;
    case SIGEV_THREAD:
        timer->way = NEW_THREAD;
        timer->number = 0;
        timer->function = event->sigev_notify_function;
        break;
    case SIGEV_NONE:
        timer->way = IN_SILENCE;
        timer->number = 0;
        break;
    default:
        timer->is_used = false;
        errno = EINVAL;
        return -1;
    }
    if (sends_signals(timer) && (timer->number < 1 || timer->number > 64)) {
        timer->is_used = false;
        errno = EINVAL;
        return -1;
    }
    return 0;
}

EXPORT int timer_settime(timer_t id, int flags, const struct itimerspec *value,
                         struct itimerspec *before) {
    struct timer *timer = controlled() ? known(id) : NULL;
    if (!timer) return REAL(timer_settime)(id, flags, value, before);
    GUARD;
    if (leads_nowhere(value)) return bad_address();
    return set(timer, flags & TIMER_ABSTIME, value, before, SITE);
}

EXPORT int timer_gettime(timer_t id, struct itimerspec *value) {
    struct timer *timer = controlled() ? known(id) : NULL;
    if (!timer) return REAL(timer_gettime)(id, value);
    GUARD;
    if (leads_nowhere(value)) return bad_address();
    *value = read_rest_of(timer);
    return 0;
}

EXPORT int timer_getoverrun(timer_t id) {
    struct timer *timer = controlled() ? known(id) : NULL;
    return timer ? timer_overruns(timer) : REAL(timer_getoverrun)(id);
}

EXPORT int timer_delete(timer_t id) {
    struct timer *timer = controlled() ? known(id) : NULL;
    if (!timer) return REAL(timer_delete)(id);
    GUARD;
    if (timer->task) perform(SET, TASK_BIT | index_of(timer->task), SITE);
    disarm(timer);
    timer->is_used = false;
    return 0;
}

/* -- timerfd -------------------------------------------------------------------------------------- */

static struct timer *timer_of(int fd) {
    for (size_t i = ITIMERS; i < MOST_TIMERS; i++)
        if (timers[i].is_used && timers[i].way == ON_DESCRIPTOR_OF_ITS_OWN && timers[i].fd == fd)
            return &timers[i];
    return NULL;
}

EXPORT int timerfd_create(clockid_t clock, int flags) {
    CONTROLLED(timerfd_create, clock, flags);
    struct timer *timer = unused_timer();
    if (!timer) {
        errno = EMFILE;
        return -1;
    }
    /* Who is refused this clock or these flags is told so by the kernel. */
    int asked = REAL(timerfd_create)(clock, flags);
    if (asked < 0) return -1;
    REAL(close)(asked);
    int fd = REAL(timerfd_create)(CLOCK_REALTIME, flags);
    if (fd < 0) return -1;
    struct task *task = timer->task;
    *timer = (struct timer){.is_used = true, .clock = clock, .task = task, .sleeps = task};
    timer->way = ON_DESCRIPTOR_OF_ITS_OWN;
    timer->fd = fd;
    return fd;
}

EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *value,
                           struct itimerspec *before) {
    struct timer *timer = controlled() ? timer_of(fd) : NULL;
    if (!timer) return REAL(timerfd_settime)(fd, flags, value, before);
    GUARD;
    if (leads_nowhere(value)) return bad_address();
    return set(timer, flags & TFD_TIMER_ABSTIME, value, before, SITE);
}

EXPORT int timerfd_gettime(int fd, struct itimerspec *value) {
    struct timer *timer = controlled() ? timer_of(fd) : NULL;
    if (!timer) return REAL(timerfd_gettime)(fd, value);
    GUARD;
    if (leads_nowhere(value)) return bad_address();
    *value = read_rest_of(timer);
    return 0;
}

void timer_closed(int fd) {
    struct timer *timer = timer_of(fd);
    if (!timer) return;
    disarm(timer);
    timer->is_used = false;
}

/* -- processes ------------------------------------------------------------------------------------ */

void timers_forget(void) {
    for (size_t i = 0; i < MOST_TIMERS; i++) {
        bool stays = timers[i].is_used && timers[i].way == ON_DESCRIPTOR_OF_ITS_OWN;
        timers[i].is_used = stays;
        timers[i].is_armed = timers[i].sleeps = false;
        timers[i].task = NULL;
    }
}

bool other_threads_stay(void) {
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct task *task = &TASKS[segment->alive[i]];
        if (task->process != this_process || task == current) continue;
        if (task->routine != (uint64_t)(uintptr_t)run_timer) return true;
    }
    return false;
}

bool only_timers_stay(void) {
    if (other_threads_stay()) return false;
    bool any = false;
    for (size_t i = 0; i < MOST_TIMERS; i++) any |= timers[i].task != NULL;
    return any;
}

/* The kernel hands it on, and what becomes of it in the other program is for that to say. */
void timers_before_exec(void) {
    struct itimerspec rest = rest_of(&timers[ITIMER_REAL]);
    struct itimerval value = rounded(&rest);
    if (timers[ITIMER_REAL].is_armed) REAL(setitimer)(ITIMER_REAL, &value, NULL);
}

void timers_exec_failed(void) {
    static const struct itimerval none;
    if (timers[ITIMER_REAL].is_armed) REAL(setitimer)(ITIMER_REAL, &none, NULL);
}

/* -- timers that the kernel has ------------------------------------------------------------------- */

bool timer_ends_soon(uint64_t signals) {
    struct itimerval left;
    return signals >> (SIGALRM - 1) & 1 && REAL(getitimer)(ITIMER_REAL, &left) == 0 &&
           left.it_value.tv_sec < SOON && (left.it_value.tv_sec > 0 || left.it_value.tv_usec > 0);
}
