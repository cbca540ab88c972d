#include "timers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "fiber.h"
#include "order.h"
#include "real.h"
#include "schedule.h"
#include "short_way.h"
#include "signals.h"
#include "thread.h"

/* Seconds for which it is worth to wait in real time: what takes longer is there to end what hangs. */
#define SOON 5
#define MOST_TIMERS 256
#define ITIMERS 3
/* Of timer_t: no number that the kernel gives, and no address. */
#define FIRST_ID 0x5E000000u
#define NEVER_AGAIN 0

enum way { TO_PROCESS, TO_THREAD, NEW_THREAD, ON_DESCRIPTOR_OF_ITS_OWN, IN_SILENCE };

static struct timer {
    bool is_used, is_armed;
    bool sleeps;               /* its task waits for the deadline, or to be armed again */
    bool is_blocked;           /* whoever armed it blocks its signal */
    enum way way;
    int number, thread, fd;
    union sigval value;
    void (*function)(union sigval);
    clockid_t clock;
    uint64_t deadline, interval;
    struct task *task;         /* once it was armed */
} timers[MOST_TIMERS];

static const int signal_of_itimer[ITIMERS] = {SIGALRM, SIGVTALRM, SIGPROF};

static uint64_t bit(int number) { return (uint64_t)1 << (number - 1); }

/* -- firing: nobody comes between the moment and what the kernel does then ----------------- */

static void send_signal(const struct timer *timer) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = timer->number;
    /* The kernel says SI_KERNEL for alarm, and lets nobody else say so. */
    info.si_code = SI_TIMER;
    info.si_value = timer->value;
    struct task *to = NULL;
    for (uint32_t i = 0; timer->way == TO_THREAD && i < segment->alive_count; i++) {
        struct task *task = &TASKS[segment->alive[i]];
        if (task->process == this_process && task->thread == timer->thread) to = task;
    }
    uint32_t meant = to ? index_of(to) : PROCESSES[this_process].main_task;
    if (order_is_kept()) order_publish(TASK_BIT | meant);
    if (to) to->signals |= bit(timer->number);
    else PROCESSES[this_process].signals |= bit(timer->number);
    long pid = syscall(SYS_getpid);
    if (timer->way == TO_PROCESS) syscall(SYS_rt_sigqueueinfo, pid, timer->number, &info);
    else syscall(SYS_rt_tgsigqueueinfo, pid, timer->thread, timer->number, &info);
}

struct expiry {
    void (*function)(union sigval);
    union sigval value;
};

static void *run_function(void *taken) {
    struct expiry expiry = *(struct expiry *)taken;
    free(taken);
    expiry.function(expiry.value);
    return NULL;
}

static void start_thread(const struct timer *timer) {
    pthread_attr_t attributes;
    inside++;
    struct expiry *expiry = malloc(sizeof *expiry);
    bool can = expiry && pthread_attr_init(&attributes) == 0;
    inside--;
    if (!can) return;
    *expiry = (struct expiry){timer->function, timer->value};
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    if (thread_create(&thread, &attributes, run_function, expiry, current->site)) free(expiry);
    pthread_attr_destroy(&attributes);
}

static void fire(const struct timer *timer) {
    switch (timer->way) {
    case TO_PROCESS: case TO_THREAD:
        send_signal(timer);
        break;
    case NEW_THREAD:
        start_thread(timer);
        break;
    case ON_DESCRIPTOR_OF_ITS_OWN: {
        uint64_t one = 1;
        struct pollfd descriptor = {timer->fd, POLLOUT, 0};
        if (REAL(poll)(&descriptor, 1, 0) > 0 && REAL(write)(timer->fd, &one, sizeof one) > 0)
            segment->releases++;
        segment->fd_changes++;
        break;
    }
    case IN_SILENCE:
        break;
    }
}

/* What the task of a timer does whenever it has its turn. */
static void *run_timer(void *own) {
    struct timer *timer = own;
    GUARD;
    for (;;) {
        timer->sleeps = false;
        if (order_is_kept()) order_learn(current_resource());
        /* One that is set again meanwhile is as new. */
        timer->is_armed = timer->interval != NEVER_AGAIN;
        timer->deadline += timer->interval;
        fire(timer);
        timer->sleeps = true;
        struct waiting waiting = {NEVER, timer->number ? bit(timer->number) : 0, timer->deadline,
                                  false, false};
        if (timer->is_armed) perform_when(SLEEP, current_resource(), current->spawned_at, waiting);
        else schedule_rest();
    }
    return NULL;
}

/* -- setting -------------------------------------------------------------------------------------- */

/* One whose signal would end the program is there to end what hangs: it does not come early. */
static bool fires_late(const struct timer *timer) {
    bool signals = timer->way == TO_PROCESS || timer->way == TO_THREAD;
    return signals && !timer->is_blocked &&
           !(PROCESSES[this_process].handled & bit(timer->number));
}

void timers_look_at_handlers(void) {
    for (size_t i = 0; i < MOST_TIMERS; i++)
        if (timers[i].task) timers[i].task->fires_late = fires_late(&timers[i]);
}

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
    task->target = timer->number ? bit(timer->number) : 0;
    task->deadline = deadline;
    task->fires_late = fires_late(timer);
    if (task->state != ALIVE) task_enliven(task);
    look_again();
}

static struct timespec span(uint64_t nanoseconds) {
    return (struct timespec){(time_t)(nanoseconds / SECOND), (long)(nanoseconds % SECOND)};
}

static uint64_t nanoseconds(const struct timespec *time) {
    return (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
}

static struct itimerspec rest_of(const struct timer *timer) {
    if (!timer->is_armed) return (struct itimerspec){{0, 0}, {0, 0}};
    /* One that is late has not come yet. */
    uint64_t left = timer->deadline > segment->now ? timer->deadline - segment->now : 1;
    return (struct itimerspec){span(timer->interval), span(left)};
}

static int set(struct timer *timer, bool is_absolute, const struct itimerspec *value,
               struct itimerspec *before, uint64_t site) {
    if (!valid_time(&value->it_value) || !valid_time(&value->it_interval)) {
        errno = EINVAL;
        return -1;
    }
    bool arms = value->it_value.tv_sec || value->it_value.tv_nsec;
    bool signals = timer->way == TO_PROCESS || timer->way == TO_THREAD;
    if (arms && signals) {
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
    if (timer->way == ON_DESCRIPTOR_OF_ITS_OWN) {
        uint64_t times;
        int flags = fcntl(timer->fd, F_GETFL);
        struct pollfd descriptor = {timer->fd, POLLIN, 0};
        if (flags >= 0 && REAL(poll)(&descriptor, 1, 0) > 0 &&
            REAL(read)(timer->fd, &times, sizeof times) < 0)
            return -1;
    }
    if (!arms) return 0;
    uint64_t deadline = is_absolute ? deadline_at(timer->clock, &value->it_value)
                                    : deadline_after(&value->it_value);
    uint64_t interval = nanoseconds(&value->it_interval);
    if (timer->way == IN_SILENCE) {
        timer->is_armed = true;
        timer->deadline = deadline;
        timer->interval = interval;
    } else {
        arm(timer, deadline, interval);
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
    timer->clock = CLOCK_MONOTONIC;
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
    return set_itimer((int)which, value, before, SITE);
}

EXPORT int getitimer(__itimer_which_t which, struct itimerval *value) {
    CONTROLLED(getitimer, which, value);
    if ((int)which < 0 || (int)which >= ITIMERS) return REAL(getitimer)(which, value);
    struct itimerspec rest = rest_of(&timers[which]);
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

static struct timer *known(timer_t id) {
    uintptr_t number = (uintptr_t)id - FIRST_ID;
    return number < MOST_TIMERS && timers[number].is_used ? &timers[number] : NULL;
}

EXPORT int timer_create(clockid_t clock, struct sigevent *event, timer_t *id) {
    CONTROLLED(timer_create, clock, event, id);
    struct timer *timer = unused_timer();
    if (!timer) {
        errno = EAGAIN;
        return -1;
    }
    struct task *task = timer->task;
    *timer = (struct timer){.is_used = true, .clock = clock, .task = task, .sleeps = task};
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
    if ((timer->way == TO_PROCESS || timer->way == TO_THREAD) &&
        (timer->number < 1 || timer->number > 64)) {
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
    return set(timer, flags & TIMER_ABSTIME, value, before, SITE);
}

EXPORT int timer_gettime(timer_t id, struct itimerspec *value) {
    struct timer *timer = controlled() ? known(id) : NULL;
    if (!timer) return REAL(timer_gettime)(id, value);
    *value = rest_of(timer);
    return 0;
}

EXPORT int timer_getoverrun(timer_t id) {
    struct timer *timer = controlled() ? known(id) : NULL;
    return timer ? 0 : REAL(timer_getoverrun)(id);
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
    if (!timer || flags & ~(TFD_NONBLOCK | TFD_CLOEXEC)) {
        errno = timer ? EINVAL : EMFILE;
        return -1;
    }
    /* It is read in the same way: how often it fired, which is then forgotten. */
    int fd = eventfd(0, (flags & TFD_NONBLOCK ? EFD_NONBLOCK : 0) |
                            (flags & TFD_CLOEXEC ? EFD_CLOEXEC : 0));
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
    return set(timer, flags & TFD_TIMER_ABSTIME, value, before, SITE);
}

EXPORT int timerfd_gettime(int fd, struct itimerspec *value) {
    struct timer *timer = controlled() ? timer_of(fd) : NULL;
    if (!timer) return REAL(timerfd_gettime)(fd, value);
    *value = rest_of(timer);
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
