/* Ways to wait for children, which the C library has rules of its own for: the argument says which. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmismatched-dealloc"

static void collect_all(int number) {
    (void)number;
    int error = errno;
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
    errno = error;
}

/* SIGCHLD is blocked as long as system waits. */
static void of_system(void) {
    struct sigaction action = {.sa_handler = collect_all, .sa_flags = SA_RESTART};
    sigaction(SIGCHLD, &action, NULL);
    int status = system("exit 3");
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    sigset_t mask;
    assert(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && !sigismember(&mask, SIGCHLD));
}

/* The second child must not keep open what the first one reads from; a stream that was closed is none any more. */
static void of_streams(void) {
    FILE *closed = popen("exit 0", "w");
    fclose(closed);
    FILE *first = popen("exec cat >/dev/null", "w"), *second = popen("exec cat >/dev/null", "w");
    assert(first && second);
    assert(pclose(first) == 0);
    assert(pclose(second) == 0);
    assert(!popen("true", "x") && errno == EINVAL);
}

/* Each of two threads waits for its own child, which exits with what it was told. */
static void *closes_its_own(void *status) {
    char command[20];
    snprintf(command, sizeof command, "exit %s", (char *)status);
    FILE *stream = popen(command, "r");
    assert(stream && WEXITSTATUS(pclose(stream)) == atoi(status));
    return NULL;
}

static void of_streams_of_threads(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, closes_its_own, "3");
    pthread_create(&second, NULL, closes_its_own, "5");
    pthread_join(first, NULL);
    pthread_join(second, NULL);
}

/* Both children are told to end: the one in a group of its own once the other one has ended. */
static void of_groups(void) {
    int ends[2], status;
    assert(pipe(ends) == 0);
    pid_t late = fork();
    if (!late) {
        char byte;
        setpgid(0, 0);
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 1 : 2);
    }
    setpgid(late, late);
    pid_t early = fork();
    if (!early) _exit(0);
    siginfo_t info;
    assert(waitid(P_PID, (id_t)early, &info, WEXITED | WNOWAIT) == 0);
    assert(waitpid(-late, &status, WNOHANG) == 0);
    close(ends[1]);
    assert(waitpid(-late, &status, 0) == late && WEXITSTATUS(status) == 1);
    assert(waitid(P_PGID, (id_t)late, &info, WEXITED) == -1 && errno == ECHILD);
    assert(waitpid(0, &status, 0) == early);
    assert(waitpid(0, &status, 0) == -1 && errno == ECHILD);
}

/* The C library has the shell execute a script that names nobody. */
static void of_a_script(void) {
    char name[] = "/tmp/a-script-XXXXXX", *const arguments[] = {name, "6", NULL};
    int file = mkstemp(name), status;
    assert(file >= 0 && dprintf(file, "exit $1\n") > 0 && fchmod(file, 0700) == 0);
    close(file);
    pid_t child = fork();
    if (!child) {
        execv(name, arguments);
        assert(errno == ENOEXEC);
        execvp(name, arguments);
        _exit(1);
    }
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 6);
    unlink(name);
}

static void *take_a_while(void *nothing) {
    usleep(10);
    return nothing;
}

/* The child ends with the last of its threads. */
static void of_threads(void) {
    int status;
    pid_t child = fork();
    if (!child) {
        pthread_t thread;
        pthread_create(&thread, NULL, take_a_while, NULL);
        pthread_exit(NULL);
    }
    assert(waitpid(child, &status, 0) == child && status == 0);
}

static void by_descriptor(void) {
    pid_t child = fork();
    if (!child) {
        usleep(10);
        _exit(5);
    }
    int fd = (int)syscall(SYS_pidfd_open, child, 0);
    siginfo_t info = {0};
    assert(fd >= 0 && waitid(P_PIDFD, (id_t)fd, &info, WEXITED) == 0);
    assert(info.si_pid == child && info.si_status == 5);
}

int main(int argc, char **argv) {
    assert(argc == 2);
    if (!strcmp(argv[1], "system")) of_system();
    else if (!strcmp(argv[1], "streams")) of_streams();
    else if (!strcmp(argv[1], "streams-of-threads")) of_streams_of_threads();
    else if (!strcmp(argv[1], "groups")) of_groups();
    else if (!strcmp(argv[1], "descriptor")) by_descriptor();
    else if (!strcmp(argv[1], "script")) of_a_script();
    else if (!strcmp(argv[1], "threads")) of_threads();
    else return 2;
    return 0;
}
