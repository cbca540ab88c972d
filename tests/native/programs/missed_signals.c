/* A loop that looks at what a handler sets, and else waits for something that a signal is to end: the
 * signal may come in between, and then nothing ends the wait.  How it waits is the argument.  With HELD
 * signals are held but for the time of the wait, or the handler leaves something behind that ends it. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HELD
#define IS_HELD 1
#else
#define IS_HELD 0
#endif

static volatile sig_atomic_t has_come;
static sem_t semaphore;
static int ends[2];
static pthread_t main_thread;
static const char *how;

static int is(const char *name) { return !strcmp(how, name); }

static void handle(int number) {
    (void)number;
    int error = errno;
    has_come = 1;
    if (IS_HELD && is("semaphore")) sem_post(&semaphore);
    if (IS_HELD && is("read") && write(ends[1], "", 1) < 0) _exit(2);
    errno = error;
}

static void wait_once(const sigset_t *without) {
    struct epoll_event event;
    char byte;
    if (is("pause") || is("alarm")) {
        if (IS_HELD) sigsuspend(without);
        else pause();
    } else if (is("poll")) {
        if (IS_HELD) ppoll(NULL, 0, NULL, without);
        else poll(NULL, 0, -1);
    } else if (is("select")) {
        if (IS_HELD) pselect(0, NULL, NULL, NULL, NULL, without);
        else select(0, NULL, NULL, NULL, NULL);
    } else if (is("epoll")) {
        int fd = epoll_create1(0);
        if (IS_HELD) epoll_pwait(fd, &event, 1, -1, without);
        else epoll_wait(fd, &event, 1, -1);
        close(fd);
    } else if (is("read")) {
        if (read(ends[0], &byte, 1) < 0 && errno != EINTR) _exit(2);
    } else if (is("semaphore")) {
        sem_wait(&semaphore);
    }
}

static void *sends(void *unused) {
    pthread_kill(main_thread, SIGUSR1);
    return unused;
}

int main(int count, char **arguments) {
    how = count > 1 ? arguments[1] : "";
    struct sigaction action = {.sa_handler = handle};
    int number = is("alarm") ? SIGALRM : SIGUSR1;
    sigaction(number, &action, NULL);
    sem_init(&semaphore, 0, 0);
    if (pipe(ends)) return 2;
    sigset_t set, without;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(IS_HELD && !is("semaphore") && !is("read") ? SIG_BLOCK : SIG_UNBLOCK, &set, &without);
    if (is("alarm")) {
        alarm(1);
        while (!has_come) wait_once(&without);
        return 0;
    }
    main_thread = pthread_self();
    pthread_t thread;
    pthread_create(&thread, NULL, sends, NULL);
    while (!has_come) wait_once(&without);
    pthread_join(thread, NULL);
    return 0;
}
