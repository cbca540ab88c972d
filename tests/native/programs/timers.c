/* Timers of the kernel against what a thread does meanwhile. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t handled;
static int value;

static void note(int number) { handled = number; }

static void set_value(int to) {
    pthread_mutex_lock(&lock);
    value = to;
    pthread_mutex_unlock(&lock);
}

static void fire(union sigval given) { set_value(given.sival_int); }

static struct itimerspec after(long milliseconds) {
    return (struct itimerspec){.it_value = {milliseconds / 1000, milliseconds % 1000 * 1000000}};
}

/* The thread counts on the timer not coming before it has looked again. */
static void *looks_twice(void *unused) {
    set_value(1);
    usleep(1000);
    pthread_mutex_lock(&lock);
    int seen = value;
    pthread_mutex_unlock(&lock);
    assert(seen == 1);
    return unused;
}

static timer_t timer_of(int way) {
    struct sigevent event = {.sigev_notify = way, .sigev_signo = SIGUSR1};
    if (way == SIGEV_THREAD) event.sigev_notify_function = fire;
    event.sigev_value.sival_int = 7;
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer)) abort();
    return timer;
}

static void set(timer_t timer, long milliseconds) {
    struct itimerspec time = after(milliseconds);
    if (timer_settime(timer, 0, &time, NULL)) abort();
}

static int starts_a_thread(void) {
    pthread_t thread;
    timer_t timer = timer_of(SIGEV_THREAD);
    set(timer, 1000);
    pthread_create(&thread, NULL, looks_twice, NULL);
    pthread_join(thread, NULL);
    return timer_delete(timer);
}

static int sends_a_signal(void) {
    signal(SIGUSR1, note);
    timer_t timer = timer_of(SIGEV_SIGNAL);
    set(timer, 200);
    for (int i = 0; i < 2; i++) usleep(1000);
    assert(!handled);
    return timer_delete(timer);
}

static int alarms(void) {
    signal(SIGALRM, note);
    alarm(2);
    unsigned left = 1;
    while ((left = sleep(left))) continue;
    assert(!handled);
    alarm(0);
    return 0;
}

static int writes(void) {
    uint64_t times = 0;
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct itimerspec time = after(1000);
    if (timerfd_settime(fd, 0, &time, NULL)) return 1;
    usleep(1000);
    assert(read(fd, &times, sizeof times) < 0 && errno == EAGAIN);
    return close(fd);
}

/* All of this is right, whenever the timers fire. */
static int is_right(void) {
    struct itimerspec rest, none = after(0);
    timer_t timer = timer_of(SIGEV_SIGNAL), silent = timer_of(SIGEV_NONE);
    signal(SIGUSR1, note);
    set(silent, 500);
    if (timer_gettime(silent, &rest) || !rest.it_value.tv_nsec) return 1;
    set(timer, 100);
    while (!handled) usleep(100);
    /* It has fired once, and does so no more. */
    if (timer_gettime(timer, &rest) || rest.it_value.tv_sec || rest.it_value.tv_nsec) return 2;
    handled = 0;
    set(timer, 100000);
    if (timer_settime(timer, 0, &none, &rest) || timer_delete(timer)) return 3;
    uint64_t times = 0;
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec each = {{0, 1000000}, {0, 1000000}};
    struct pollfd descriptor = {fd, POLLIN, 0};
    if (timerfd_settime(fd, 0, &each, NULL)) return 4;
    for (int i = 0; i < 2; i++)
        if (poll(&descriptor, 1, -1) != 1 || read(fd, &times, sizeof times) != 8 || !times) return 5;
    return close(fd);
}

/* What would end the program is there to end what hangs, and does not come before that. */
static int has_a_watchdog(void) {
    pthread_t thread;
    alarm(60);
    pthread_create(&thread, NULL, looks_twice, NULL);
    pthread_join(thread, NULL);
    sleep(1);
    return 0;
}

static int sleeps_too_long(void) {
    alarm(1);
    sleep(100);
    return 0;
}

/* The last thread ends with a timer that is still set. */
static int leaves_it_set(void) {
    pthread_t thread;
    alarm(60);
    pthread_create(&thread, NULL, looks_twice, NULL);
    pthread_exit(NULL);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*use)(void);
    } uses[] = {
        {"starts-a-thread", starts_a_thread}, {"sends-a-signal", sends_a_signal},
        {"alarms", alarms}, {"writes", writes}, {"is-right", is_right},
        {"has-a-watchdog", has_a_watchdog}, {"sleeps-too-long", sleeps_too_long},
        {"leaves-it-set", leaves_it_set},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (argc > 1 && strcmp(argv[1], uses[i].name) == 0) return uses[i].use();
    return 99;
}
