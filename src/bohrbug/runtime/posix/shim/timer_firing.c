#include "timer.h"

#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "order.h"
#include "real.h"
#include "schedule.h"
#include "signals.h"
#include "thread.h"
#include "timers.h"

/* -- signals --------------------------------------------------------------------------------------- */

static struct task *addressee(const struct timer *timer) {
    for (uint32_t i = 0; timer->way == TO_THREAD && i < segment->alive_count; i++) {
        struct task *task = &TASKS[segment->alive[i]];
        if (task->process == this_process && task->thread == timer->thread) return task;
    }
    return NULL;
}

/* Signals of one number are not told apart: then each expiration sends one. */
static bool shares_its_number(const struct timer *timer) {
    for (size_t i = 0; i < MOST_TIMERS; i++) {
        const struct timer *other = &timers[i];
        if (other != timer && other->is_used && sends_signals(other) && other->number == timer->number)
            return true;
    }
    return false;
}

/* Whether the last signal that it has sent was not taken yet. */
static bool is_pending(const struct timer *timer) {
    if (!timer->has_sent || shares_its_number(timer)) return false;
    bool own = timer->way == TO_THREAD;
    int thread = own ? timer->thread : (int)syscall(SYS_gettid);
    return signals_pending(thread, own) & signal_bit(timer->number);
}

static void send_signal(struct timer *timer, uint64_t times) {
    if (is_pending(timer)) {
        timer->later += times;
        return;
    }
    timer->late = timer->later;
    timer->later = times - 1;
    timer->has_sent = true;
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = timer->number;
    /* The kernel says SI_KERNEL for alarm, and lets nobody else say so. */
    info.si_code = SI_TIMER;
    info.si_timerid = (int)(timer - timers);
    info.si_overrun = times - 1 < INT_MAX ? (int)(times - 1) : INT_MAX;
    info.si_value = timer->value;
    struct task *to = addressee(timer);
    uint32_t meant = to ? index_of(to) : PROCESSES[this_process].main_task;
    if (order_is_kept()) order_publish(TASK_BIT | meant);
    if (to) to->signals |= signal_bit(timer->number);
    else PROCESSES[this_process].signals |= signal_bit(timer->number);
    long pid = syscall(SYS_getpid);
    if (timer->way == TO_PROCESS) syscall(SYS_rt_sigqueueinfo, pid, timer->number, &info);
    else syscall(SYS_rt_tgsigqueueinfo, pid, timer->thread, timer->number, &info);
}

int timer_overruns(struct timer *timer) {
    uint64_t count = is_pending(timer) ? timer->late : timer->later;
    return count < INT_MAX ? (int)count : INT_MAX;
}

void timer_signal_taken(siginfo_t *info) {
    if (info->si_code != SI_TIMER || info->si_timerid < 0 || info->si_timerid >= MOST_TIMERS) return;
    struct timer *timer = &timers[info->si_timerid];
    if (timer->is_used && !shares_its_number(timer)) info->si_overrun = timer_overruns(timer);
}

/* -- threads --------------------------------------------------------------------------------------- */

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

/* -- descriptors ----------------------------------------------------------------------------------- */

/* The descriptor is one of the kernel's timers by the real-time clock, which has seen many hours.  It is set to a
 * moment in the past, and to expire each hour since: so it has expired, at once, as often as is wanted, and for half
 * an hour nothing changes that. */
#define HOUR 3600
/* More than anybody waits for, and less than hours have passed since the epoch. */
#define MOST_EXPIRATIONS 400000

void timer_descriptor_clears(int fd) {
    static const struct itimerspec none;
    REAL(timerfd_settime)(fd, 0, &none, NULL);
}

void timer_descriptor_counts(int fd, uint64_t times) {
    struct pollfd descriptor = {fd, POLLIN, 0};
    uint64_t before = 0;
    if (REAL(poll)(&descriptor, 1, 0) > 0 && REAL(read)(fd, &before, sizeof before) < 0) before = 0;
    times += before;
    if (times > MOST_EXPIRATIONS) times = MOST_EXPIRATIONS;
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    time_t first = now.tv_sec - (time_t)(times - 1) * HOUR - HOUR / 2;
    struct itimerspec past = {{times > 1 ? HOUR : 0, 0}, {first, 0}};
    REAL(timerfd_settime)(fd, TFD_TIMER_ABSTIME, &past, NULL);
    /* The kernel notices in an interrupt. */
    REAL(poll)(&descriptor, 1, 1000);
}

/* ------------------------------------------------------------------------------------------------ */

void timer_fires(struct timer *timer, uint64_t times) {
    switch (timer->way) {
    case TO_PROCESS: case TO_THREAD:
        send_signal(timer, times);
        break;
    case NEW_THREAD:
        timer->later = times - 1;
        start_thread(timer);
        break;
    case ON_DESCRIPTOR_OF_ITS_OWN:
        timer_descriptor_counts(timer->fd, times);
        segment->releases++;
        segment->fd_changes++;
        break;
    case IN_SILENCE:
        break;
    }
}
