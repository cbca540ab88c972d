/* Timers of all kinds, in ways that are right and ways that are wrong. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000LL

static volatile sig_atomic_t handled;
static sem_t done;

static void note(int number) { handled = number; }
static void post(union sigval unused) {
    (void)unused;
    sem_post(&done);
}

static struct timespec span(long long ns) { return (struct timespec){ns / 1000000000, ns % 1000000000}; }
static long long ns_of(struct timespec time) { return time.tv_sec * 1000000000LL + time.tv_nsec; }
static struct itimerspec once(long long ns) { return (struct itimerspec){{0, 0}, span(ns)}; }
static struct itimerspec each(long long ns) { return (struct itimerspec){span(ns), span(ns)}; }

static long long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return ns_of(time);
}

static sigset_t block(int number) {
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    return before;
}

static timer_t timer_on(clockid_t clock, int way, int number, struct itimerspec time) {
    struct sigevent event = {.sigev_notify = way, .sigev_signo = number};
    if (way == SIGEV_THREAD) event.sigev_notify_function = post;
    timer_t timer;
    if (timer_create(clock, &event, &timer) || timer_settime(timer, 0, &time, NULL)) abort();
    return timer;
}

/* -- wrong ------------------------------------------------------------------------------------------ */

/* Nobody computes while it waits. */
static int waits_for_time_of_the_processor(void) {
    block(SIGRTMIN);
    timer_on(CLOCK_PROCESS_CPUTIME_ID, SIGEV_SIGNAL, SIGRTMIN, once(20 * MS));
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    return sigwaitinfo(&set, NULL) != SIGRTMIN;
}

static int waits_to_be_profiled(void) {
    signal(SIGVTALRM, note);
    sigset_t before = block(SIGVTALRM);
    struct itimerval time = {{0, 0}, {0, 20000}};
    setitimer(ITIMER_VIRTUAL, &time, NULL);
    while (!handled) sigsuspend(&before);
    return 0;
}

static void *waits_until_posted(void *unused) {
    sem_wait(&done);
    return unused;
}

/* The timer counts the time of a thread that only joins. */
static int counts_time_of_a_thread(void) {
    pthread_t thread;
    sem_init(&done, 0, 0);
    timer_on(CLOCK_THREAD_CPUTIME_ID, SIGEV_THREAD, 0, once(2000 * MS));
    pthread_create(&thread, NULL, waits_until_posted, NULL);
    return pthread_join(thread, NULL);
}

static int ignores_overruns(void) {
    block(SIGRTMIN);
    timer_t timer = timer_on(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN, each(10 * MS));
    usleep(35000);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigwaitinfo(&set, NULL);
    assert(timer_getoverrun(timer) == 0);
    return 0;
}

static int takes_a_silent_timer_to_stop(void) {
    struct itimerspec rest;
    timer_t timer = timer_on(CLOCK_MONOTONIC, SIGEV_NONE, 0, each(50 * MS));
    usleep(120000);
    timer_gettime(timer, &rest);
    assert(ns_of(rest.it_value) <= MS);
    return 0;
}

/* -- right ------------------------------------------------------------------------------------------ */

static int adds_overruns_up(void) {
    block(SIGRTMIN);
    timer_t timer = timer_on(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN, each(10 * MS));
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    usleep(35000);
    siginfo_t info;
    assert(sigwaitinfo(&set, &info) == SIGRTMIN);
    assert(info.si_code == SI_TIMER && timer_getoverrun(timer) == info.si_overrun);
    assert(1 + info.si_overrun >= 3);
    return 0;
}

/* However late it is, no more than one signal of a timer is pending. */
static int has_one_signal_pending(void) {
    block(SIGRTMIN);
    timer_t timer = timer_on(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN, each(10 * MS));
    usleep(35000);
    struct itimerspec none = once(0);
    struct timespec at_once = {0, 0};
    timer_settime(timer, 0, &none, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    int taken = 0;
    while (sigtimedwait(&set, NULL, &at_once) == SIGRTMIN) taken++;
    /* Newer kernels drop it with the setting. */
    assert(taken <= 1);
    return 0;
}

static int asks_a_silent_timer(void) {
    struct itimerspec rest;
    timer_t timer = timer_on(CLOCK_MONOTONIC, SIGEV_NONE, 0, once(5 * MS));
    do timer_gettime(timer, &rest);
    while (ns_of(rest.it_value));
    return 0;
}

static int counts_late_expirations(void) {
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec time = each(10 * MS);
    uint64_t times;
    timerfd_settime(fd, 0, &time, NULL);
    usleep(45000);
    assert(read(fd, &times, sizeof times) == 8 && times >= 4);
    time = (struct itimerspec){span(10 * MS), span(now(CLOCK_MONOTONIC) - 100 * MS)};
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &time, NULL);
    assert(read(fd, &times, sizeof times) == 8 && times >= 10);
    return close(fd);
}

/* A descriptor of a timer is not one of eventfd. */
static int looks_at_the_descriptor(void) {
    int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK), set = epoll_create1(0);
    uint64_t times = 1;
    struct pollfd descriptor = {fd, POLLIN | POLLOUT, 0};
    struct itimerspec time = once(10 * MS);
    struct epoll_event wanted = {.events = EPOLLIN | EPOLLOUT | EPOLLET}, event;
    assert(poll(&descriptor, 1, 0) == 0);
    assert(write(fd, &times, sizeof times) < 0 && errno == EINVAL);
    epoll_ctl(set, EPOLL_CTL_ADD, fd, &wanted);
    assert(epoll_wait(set, &event, 1, 0) == 0);
    timerfd_settime(fd, 0, &time, NULL);
    assert(epoll_wait(set, &event, 1, -1) == 1 && event.events == EPOLLIN);
    /* Edges come once. */
    assert(epoll_wait(set, &event, 1, 0) == 0);
    assert(poll(&descriptor, 1, -1) == 1 && descriptor.revents == POLLIN);
    assert(read(fd, &times, sizeof times) == 8 && times == 1);
    return close(fd);
}

/* Whoever has seen the moment has seen the timer fire. */
static int reads_the_clock(void) {
    signal(SIGUSR1, note);
    timer_on(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, once(10 * MS));
    long long until = now(CLOCK_MONOTONIC) + 11 * MS;
    while (now(CLOCK_MONOTONIC) < until) continue;
    assert(handled == SIGUSR1);
    return 0;
}

static int wakes_after_a_timer(void) {
    block(SIGUSR1);
    signal(SIGUSR1, note);
    timer_on(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, once(10 * MS));
    usleep(100000);
    sigset_t pending;
    sigpending(&pending);
    assert(sigismember(&pending, SIGUSR1));
    return 0;
}

static int sleeps_without_the_processor(void) {
    long long before = now(CLOCK_PROCESS_CPUTIME_ID);
    sleep(5);
    assert(now(CLOCK_PROCESS_CPUTIME_ID) - before < 1000 * MS && clock() < CLOCKS_PER_SEC);
    return 0;
}

static int asks_for_clocks(void) {
    timer_t timer;
    struct timespec soon = span(1);
    assert(timer_create(99, NULL, &timer) < 0 && errno == EINVAL);
    assert(timerfd_create(99, 0) < 0 && errno == EINVAL);
    assert(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &soon, NULL) == EINVAL);
    sem_init(&done, 0, 1);
    assert(sem_clockwait(&done, CLOCK_PROCESS_CPUTIME_ID, &soon) < 0 && errno == EINVAL);
    return 0;
}

static int spins_until_profiled(void) {
    signal(SIGPROF, note);
    struct itimerval time = {{0, 0}, {0, 20000}};
    setitimer(ITIMER_PROF, &time, NULL);
    while (!handled) sched_yield();
    return 0;
}

/* -- waiting for a thread that sleeps ------------------------------------------------------------------ */

static atomic_int flag;

static void *sleeps(void *unused) {
    usleep(1000);
    flag = 1;
    return unused;
}

static int yields_until(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleeps, NULL);
    while (!flag) sched_yield();
    return pthread_join(thread, NULL);
}

static int tries_until(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleeps, NULL);
    while (!flag) now(CLOCK_MONOTONIC);
    return pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
#define USE(name) {#name, name}
    static const struct {
        const char *name;
        int (*use)(void);
    } uses[] = {
        USE(waits_for_time_of_the_processor), USE(waits_to_be_profiled), USE(counts_time_of_a_thread),
        USE(ignores_overruns), USE(takes_a_silent_timer_to_stop), USE(adds_overruns_up),
        USE(has_one_signal_pending), USE(asks_a_silent_timer), USE(counts_late_expirations),
        USE(looks_at_the_descriptor), USE(reads_the_clock), USE(wakes_after_a_timer),
        USE(sleeps_without_the_processor), USE(asks_for_clocks), USE(spins_until_profiled),
        USE(yields_until), USE(tries_until),
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (argc > 1 && strcmp(argv[1], uses[i].name) == 0) return uses[i].use();
    return 99;
}
