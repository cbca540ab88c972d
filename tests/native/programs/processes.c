/* Correct: the ways to start processes and to wait for them; exits with the line that failed. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            exit(__LINE__ % 250 + 1); \
        } \
    } while (0)

static volatile sig_atomic_t children;

static void on_child(int number) {
    (void)number;
    children++;
}

static int code_of(pid_t child) {
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void spawning(void) {
    char *const arguments[] = {"sh", "-c", "exit 5", NULL};
    pid_t child;
    CHECK(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) == 0);
    CHECK(code_of(child) == 5);
    CHECK(posix_spawnp(&child, "sh", NULL, NULL, arguments, environ) == 0);
    CHECK(code_of(child) == 5);
    CHECK(posix_spawnp(&child, "no-such-program", NULL, NULL, arguments, environ) == ENOENT);
    CHECK(WEXITSTATUS(system("exit 6")) == 6);
}

static void forking(void) {
    pid_t first = fork();
    if (first == 0) _exit(1);
    pid_t second = fork();
    if (second == 0) {
        execlp("sh", "sh", "-c", "exit 2", (char *)NULL);
        _exit(99);
    }
    int status, sum = 0;
    for (int i = 0; i < 2; i++) {
        pid_t child = wait(&status);
        CHECK(child == first || child == second);
        sum += WEXITSTATUS(status);
    }
    CHECK(sum == 3);
    CHECK(wait(&status) == -1 && errno == ECHILD);
}

static void piping(void) {
    char line[32];
    FILE *stream = popen("echo one; echo two", "r");
    CHECK(stream);
    CHECK(fgets(line, sizeof line, stream) && strcmp(line, "one\n") == 0);
    CHECK(fgets(line, sizeof line, stream) && strcmp(line, "two\n") == 0);
    CHECK(!fgets(line, sizeof line, stream));
    CHECK(pclose(stream) == 0);
    stream = popen("read line; test \"$line\" = hello", "w");
    CHECK(stream);
    CHECK(fputs("hello\n", stream) >= 0);
    CHECK(pclose(stream) == 0);
}

static void signalling(void) {
    sigset_t blocked, before;
    signal(SIGCHLD, on_child);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    pid_t child = fork();
    if (child == 0) _exit(0);
    while (!children) sigsuspend(&before);
    CHECK(code_of(child) == 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
    child = fork();
    if (child == 0) {
        signal(SIGTERM, SIG_DFL);
        pause();
        _exit(1);
    }
    kill(child, SIGKILL);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void *in_a_thread(void *unused) {
    spawning();
    return unused;
}

int main(void) {
    spawning();
    forking();
    piping();
    signalling();
    pthread_t thread;
    pthread_create(&thread, NULL, in_a_thread, NULL);
    pthread_join(thread, NULL);
    return 0;
}
