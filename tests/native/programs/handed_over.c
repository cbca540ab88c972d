/* A thread hands something over, by a call that lets another one go on, and only then stores what that one
 * looks at.  How is the argument.  With a second one it stores that before. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static const char *how;
static volatile int data;
static int ends[2], others[2];
static FILE *stream;
static pthread_t taker;
static pthread_barrier_t barrier;
static char large[1 << 20];
static struct sockaddr_un address;

static int is(const char *name) { return !strcmp(how, name); }

static int of_sockets(void) {
    return is("send") || is("sendto") || is("sendmsg") || is("sendmmsg") || is("shutdown") || is("recv") ||
           is("recvmsg");
}

static int makes_room(void) { return is("read") || is("readv") || is("recv") || is("recvmsg") || is("fgetc"); }

static int is_signal(void) { return is("kill") || is("sigqueue") || is("pthread_kill") || is("timer"); }

static void hand_over(void) {
    struct iovec part = {large, 1}, whole = {large, sizeof large};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct mmsghdr messages = {message, 0};
    struct itimerspec soon = {{0, 0}, {0, 1}};
    timer_t timer;
    ssize_t size = 0;
    if (is("write")) size = write(ends[1], "x", 1);
    if (is("poll")) size = write(ends[1], "x", 1);
    if (is("writev")) size = writev(ends[1], &part, 1);
    if (is("dprintf")) size = dprintf(ends[1], "x");
    if (is("eventfd")) size = eventfd_write(ends[1], 1);
    if (is("send")) size = send(ends[1], "x", 1, 0);
    if (is("sendto")) size = sendto(ends[1], "x", 1, 0, NULL, 0);
    if (is("sendmsg")) size = sendmsg(ends[1], &message, 0);
    if (is("sendmmsg")) size = sendmmsg(ends[1], &messages, 1, 0);
    if (is("shutdown")) size = shutdown(ends[1], SHUT_WR);
    if (is("close")) size = close(ends[1]);
    if (is("dup2")) size = dup2(others[0], ends[1]);
    if (is("splice")) size = splice(others[0], NULL, ends[1], NULL, 1, 0);
    if (is("tee")) size = tee(others[0], ends[1], 1, 0);
    if (is("sendfile")) size = sendfile(ends[1], open("/proc/self/exe", O_RDONLY), NULL, 1);
    if (is("fputs")) size = fputs("x", stream) + fflush(stream);
    if (is("fputc")) size = fputc('x', stream);
    if (is("fprintf")) size = fprintf(stream, "x");
    if (is("fclose")) size = fputs("x", stream) + fclose(stream);
    if (is("read")) size = read(ends[0], large, sizeof large);
    if (is("readv")) size = readv(ends[0], &whole, 1);
    if (is("recv")) size = recv(ends[0], large, sizeof large, 0);
    if (is("recvmsg")) size = recvmsg(ends[0], &(struct msghdr){.msg_iov = &whole, .msg_iovlen = 1}, 0);
    if (is("fgetc")) size = fgetc(stream);
    if (is("kill")) size = kill(getpid(), SIGUSR1);
    if (is("sigqueue")) size = sigqueue(getpid(), SIGUSR1, (union sigval){0});
    if (is("pthread_kill")) size = -pthread_kill(taker, SIGUSR1);
    if (is("pthread_cancel")) size = -pthread_cancel(taker);
    if (is("timer"))
        size = timer_create(CLOCK_MONOTONIC, &(struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1},
                            &timer) + timer_settime(timer, 0, &soon, NULL);
    if (is("timerfd")) size = timerfd_settime(ends[0], 0, &soon, NULL);
    if (is("connect"))
        size = connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address);
    if (is("open")) size = open(address.sun_path, O_RDWR);
    /* Who comes last does not wait. */
    if (is("barrier") && !pthread_barrier_wait(&barrier)) exit(0);
    if (size < 0) exit(2);
}

static void check(void *unused) {
    (void)unused;
    if (!data) abort();
}

static void *take(void *unused) {
    struct pollfd readable = {ends[0], POLLIN, 0};
    char byte;
    eventfd_t count;
    sigset_t signals;
    int number;
    ssize_t size = 0;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_cleanup_push(check, NULL);
    if (is("poll")) size = poll(&readable, 1, -1);
    else if (is("eventfd") || is("timerfd")) size = read(ends[0], &count, sizeof count);
    else if (makes_room()) size = write(ends[1], "x", 1);
    else if (is_signal()) size = -sigwait(&signals, &number);
    else if (is("pthread_cancel")) pause();
    else if (is("connect")) size = accept(ends[0], NULL, NULL);
    else if (is("open")) size = open(address.sun_path, O_RDONLY);
    else if (is("barrier")) size = pthread_barrier_wait(&barrier) ? exit(0), 0 : 0;
    else size = read(ends[0], &byte, 1);
    if (size < 0) exit(3);
    pthread_cleanup_pop(1);
    return unused;
}

/* Until nothing more goes into it. */
static void fill(int fd) {
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    while (write(fd, large, 4096) > 0) {}
    fcntl(fd, F_SETFL, flags);
}

static void prepare(void) {
    if (of_sockets()) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) exit(4);
    } else if (pipe(ends)) {
        exit(4);
    }
    if (is("eventfd")) ends[0] = ends[1] = eventfd(0, 0);
    if (is("timerfd")) ends[0] = timerfd_create(CLOCK_MONOTONIC, 0);
    if (pipe(others) || write(others[1], "x", 1) != 1) exit(4);
    if (makes_room()) fill(ends[1]);
    if (*how == 'f') stream = is("fgetc") ? fdopen(ends[0], "r") : fdopen(ends[1], "w");
    if (is("fputc") || is("fprintf")) setvbuf(stream, NULL, _IONBF, 0);
    pthread_barrier_init(&barrier, NULL, 2);
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "handed-over-%d", (int)getpid());
    unlink(address.sun_path);
    if (is("open") && mkfifo(address.sun_path, 0600)) exit(4);
    if (is("connect")) {
        ends[0] = socket(AF_UNIX, SOCK_STREAM, 0);
        if (bind(ends[0], (struct sockaddr *)&address, sizeof address) || listen(ends[0], 1)) exit(4);
    }
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    if (is_signal()) pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

int main(int count, char **arguments) {
    how = arguments[1];
    prepare();
    pthread_create(&taker, NULL, take, NULL);
    if (count > 2) data = 1;
    hand_over();
    data = 1;
    pthread_join(taker, NULL);
    unlink(address.sun_path);
    return 0;
}
