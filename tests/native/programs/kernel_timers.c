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
#include <sys/select.h>
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

/* -- other masks -- */

/* Waits with another mask until there is something to read, for ever if there is no time. */
typedef int wait_with(int fd, const struct timespec *time, const sigset_t *mask);

static int with_ppoll(int fd, const struct timespec *time, const sigset_t *mask) {
    struct pollfd descriptor = {fd, POLLIN, 0};
    return ppoll(&descriptor, 1, time, mask);
}

static int with_pselect(int fd, const struct timespec *time, const sigset_t *mask) {
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(fd, &readable);
    return pselect(fd + 1, &readable, NULL, NULL, time, mask);
}

static int with_epoll(int fd, const struct timespec *time, const sigset_t *mask) {
    int epoll = epoll_create1(0), timeout = time ? (int)(time->tv_sec * 1000) : -1;
    struct epoll_event event = {.events = EPOLLIN}, found;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) exit(8);
    int result = epoll_pwait(epoll, &found, 1, timeout, mask), error = errno;
    close(epoll);
    errno = error;
    return result;
}

static sigset_t none, only_child, only_user, both;

static void block(int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static int is_blocked(int number) {
    sigset_t set;
    return sigprocmask(SIG_BLOCK, NULL, &set) == 0 && sigismember(&set, number);
}

static void make_pipe_and_masks(void) {
    sigemptyset(&none);
    sigemptyset(&only_child);
    sigaddset(&only_child, SIGCHLD);
    both = only_child;
    sigaddset(&both, SIGUSR1);
    only_user = both;
    sigdelset(&only_user, SIGCHLD);
    if (pipe(ends)) exit(8);
}

/* The signal may be pending before the wait, and its handler has operations of its own. */
static int is_interrupted(wait_with *wait) {
    make_pipe_and_masks();
    block(SIGCHLD);
    handle(SIGCHLD, collect);
    for (int i = 0; i < 2; i++) {
        if (fork() == 0) _exit(0);
        if (wait(ends[0], NULL, &none) != -1 || errno != EINTR) return 0;
        if (!is_blocked(SIGCHLD) || is_blocked(SIGUSR2)) return 0;
    }
    /* Who only looks is told, too; not by epoll, which does not look at signals then. */
    static const struct timespec at_once = {0, 0};
    handle(SIGUSR1, note);
    block(SIGUSR1);
    kill(getpid(), SIGUSR1);
    int looked = wait(ends[0], &at_once, &none);
    if (wait == with_epoll ? looked != 0 : looked != -1 || errno != EINTR || !handled) return 0;
    /* Afterwards the mask is as before: what is blocked ends no wait. */
    kill(getpid(), SIGUSR1);
    if (fork() == 0) {
        usleep(1000);
        _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    struct pollfd descriptor = {ends[0], POLLIN, 0};
    return poll(&descriptor, 1, -1) == 1;
}

/* Somebody writes while the others wait; whether exactly that ends the wait. */
static int is_ended_by_writing(wait_with *wait, const sigset_t *mask) {
    char byte;
    pid_t child = fork();
    if (child == 0) {
        usleep(1000);
        _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    if (wait(ends[0], NULL, mask) != 1 || handled) return 0;
    return read(ends[0], &byte, 1) == 1 && waitpid(child, NULL, 0) == child;
}

/* What the mask keeps out, and what has no handler, ends no wait, though it is pending. */
static int is_not_interrupted(wait_with *wait) {
    make_pipe_and_masks();
    handle(SIGUSR1, note);
    block(SIGUSR1);
    block(SIGCHLD);
    kill(getpid(), SIGUSR1);
    pid_t child = fork();
    if (child == 0) _exit(0);
    siginfo_t info;
    if (waitid(P_PID, (id_t)child, &info, WEXITED)) return 0;
    if (!is_ended_by_writing(wait, &both)) return 0;
    /* epoll ends for signals that are ignored, too. */
    if (wait != with_epoll && !is_ended_by_writing(wait, &only_user)) return 0;
    if (!is_blocked(SIGUSR1)) return 0;
    static const struct timespec second = {1, 0};
    return wait(ends[0], &second, &only_child) == -1 && errno == EINTR && handled == SIGUSR1;
}

/* Nobody has a handler: what the mask lets in ends the process. */
static int is_killed(wait_with *wait) {
    make_pipe_and_masks();
    pid_t child = fork();
    if (child == 0) {
        block(SIGTERM);
        raise(SIGTERM);
        wait(ends[0], NULL, &none);
        _exit(3);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGTERM;
}

static int use_other_mask(void) { return is_interrupted(with_ppoll); }
static int use_other_mask_select(void) { return is_interrupted(with_pselect); }
static int use_other_mask_epoll(void) { return is_interrupted(with_epoll); }
static int use_kept_out(void) { return is_not_interrupted(with_ppoll); }
static int use_kept_out_select(void) { return is_not_interrupted(with_pselect); }
static int use_kept_out_epoll(void) { return is_not_interrupted(with_epoll); }
static int use_let_in(void) { return is_killed(with_ppoll); }

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

/* A child that is only looked at is still there to be collected. */
static int use_look_at_child(void) {
    siginfo_t info = {0};
    int status = 0;
    pid_t child = fork();
    if (child == 0) _exit(3);
    for (int i = 0; i < 2; i++)
        if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) || info.si_status != 3) return 0;
    return waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3;
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
        {"other-mask", use_other_mask}, {"other-mask-select", use_other_mask_select},
        {"other-mask-epoll", use_other_mask_epoll}, {"kept-out", use_kept_out},
        {"kept-out-select", use_kept_out_select}, {"kept-out-epoll", use_kept_out_epoll},
        {"let-in", use_let_in}, {"look-at-child", use_look_at_child}, {"interrupted-calls", use_interrupted_calls},
        {"signal-descriptor", use_signal_descriptor}, {"kill", use_kill},
        {"thread-exit", use_thread_exit},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (argc > 1 && strcmp(argv[1], uses[i].name) == 0) return uses[i].use() ? 0 : 1;
    return 2;
}
