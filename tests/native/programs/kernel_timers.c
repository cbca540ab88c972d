/* Waits that end by what the kernel does, in real time: timers, signals, descriptors of events. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static int ends[2];

static void note(int number) { handled = number; }

static void tell_pipe(int number) {
    (void)number;
    if (write(ends[1], "x", 1) != 1) _exit(9);
}

static void handle(int number, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};
    if (sigaction(number, &action, NULL)) exit(8);
}

static void set_timer(void) {
    struct itimerval soon = {{0, 0}, {0, 20000}};
    if (setitimer(ITIMER_REAL, &soon, NULL)) exit(8);
}

static int timer_descriptor(void) {
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec soon = {{0, 0}, {0, 20000000}};
    if (fd < 0 || timerfd_settime(fd, 0, &soon, NULL)) exit(8);
    return fd;
}

static int use_pause(void) {
    handle(SIGALRM, note);
    set_timer();
    return pause() == -1 && errno == EINTR && handled == SIGALRM;
}

/* The parent waits while the child, which has nothing to do with the timer, does so, too. */
static int use_pause_beside_a_child(void) {
    int never[2];
    char byte;
    if (pipe(never)) return 0;
    pid_t child = fork();
    if (child == 0) {
        close(never[1]);
        _exit(read(never[0], &byte, 1) == 0 ? 0 : 1);
    }
    int result = use_pause();
    close(never[1]);
    int status = 1;
    return waitpid(child, &status, 0) == child && status == 0 && result;
}

static int use_timer_descriptor(void) {
    uint64_t times = 0;
    return read(timer_descriptor(), &times, sizeof times) == sizeof times && times == 1;
}

static int use_epoll(void) {
    int epoll = epoll_create1(0), timer = timer_descriptor();
    struct epoll_event event = {.events = EPOLLIN | EPOLLET}, found;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event)) return 0;
    return epoll_wait(epoll, &found, 1, -1) == 1;
}

static int use_timer(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    timer_t timer;
    struct itimerspec soon = {{0, 0}, {0, 20000000}};
    int number = 0;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &soon, NULL))
        return 0;
    return sigwait(&set, &number) == 0 && number == SIGRTMIN;
}

/* The handler makes what poll waits for ready: it is interrupted all the same. */
static int use_own_pipe(void) {
    if (pipe(ends)) return 0;
    handle(SIGALRM, tell_pipe);
    struct pollfd descriptor = {ends[0], POLLIN, 0};
    set_timer();
    int result = poll(&descriptor, 1, -1);
    return (result == -1 && errno == EINTR) || result == 1;
}

static int use_own_pipe_for_children(void) {
    if (pipe(ends)) return 0;
    handle(SIGCHLD, tell_pipe);
    pid_t child = fork();
    if (child == 0) _exit(0);
    struct pollfd descriptor = {ends[0], POLLIN, 0};
    int result = poll(&descriptor, 1, -1);
    if (result == -1 && errno == EINTR) result = poll(&descriptor, 1, -1);
    return result == 1 && waitpid(child, NULL, 0) == child;
}

static void end_read(int number) { (void)number; }

/* Without SA_RESTART a read, and a wait for a child, end with the signal. */
static int use_interrupted_calls(void) {
    int status;
    char byte;
    if (pipe(ends)) return 0;
    handle(SIGUSR1, end_read);
    for (int i = 0; i < 2; i++) {
        sigset_t set, before;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_BLOCK, &set, &before);
        pid_t parent = getpid(), child = fork();
        if (child == 0) {
            /* Again and again, as the first may come before the call. */
            while (getppid() == parent && kill(parent, SIGUSR1) == 0) usleep(1000);
            _exit(0);
        }
        sigprocmask(SIG_SETMASK, &before, NULL);
        long result = i ? (long)wait(&status) : (long)read(ends[0], &byte, 1);
        int error = errno;
        kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        if (result != -1 || error != EINTR) return 0;
    }
    return 1;
}

static void collect(int number) {
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
}

/* The signal may be pending before the wait, and its handler has operations of its own. */
static int use_other_mask(void) {
    sigset_t set, none;
    sigemptyset(&none);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    handle(SIGCHLD, collect);
    if (pipe(ends)) return 0;
    struct pollfd descriptor = {ends[0], POLLIN, 0};
    for (int i = 0; i < 2; i++) {
        if (fork() == 0) _exit(0);
        if (ppoll(&descriptor, 1, NULL, &none) != -1 || errno != EINTR) return 0;
    }
    return 1;
}

static int use_signal_descriptor(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, 0);
    pid_t child = fork();
    if (child == 0) _exit(0);
    struct signalfd_siginfo info;
    if (read(fd, &info, sizeof info) != sizeof info) return 0;
    return info.ssi_signo == SIGCHLD && waitpid(child, NULL, 0) == child;
}

/* A child, ignored by default, is nothing that pause waits for. */
static int use_kill(void) {
    handle(SIGUSR1, note);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        if (fork() == 0) _exit(0);
        wait(NULL);
        kill(parent, SIGUSR1);
        _exit(0);
    }
    while (!handled) {
        sigset_t set, before;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_BLOCK, &set, &before);
        if (!handled) sigsuspend(&before);
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    return waitpid(child, NULL, 0) == child;
}

static pthread_t first;

static void *goes_on(void *unused) {
    (void)unused;
    pthread_join(first, NULL);
    /* Longer than others wait before they look who is gone. */
    for (volatile long i = 0; i < 60000000; i++) continue;
    _exit(7);
}

/* The first thread of the child ends before the others. */
static int use_thread_exit(void) {
    pid_t child = fork();
    if (child == 0) {
        pthread_t other;
        first = pthread_self();
        if (pthread_create(&other, NULL, goes_on, NULL)) _exit(1);
        pthread_exit(NULL);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*use)(void);
    } uses[] = {
        {"pause", use_pause}, {"pause-beside-a-child", use_pause_beside_a_child},
        {"timer-descriptor", use_timer_descriptor}, {"epoll", use_epoll}, {"timer", use_timer},
        {"own-pipe", use_own_pipe}, {"own-pipe-for-children", use_own_pipe_for_children},
        {"other-mask", use_other_mask}, {"interrupted-calls", use_interrupted_calls},
        {"signal-descriptor", use_signal_descriptor}, {"kill", use_kill},
        {"thread-exit", use_thread_exit},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (argc > 1 && strcmp(argv[1], uses[i].name) == 0) return uses[i].use() ? 0 : 1;
    return 2;
}
