/* A child has the signal handlers of its parent: one ends its wait, and it goes on. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int handled;

static void on_signal(int number) { handled = number; }

int main(void) {
    struct sigaction action = {.sa_handler = on_signal};
    int ready[2], more[2], status;
    char byte;
    sigaction(SIGTERM, &action, NULL);
    if (pipe(ready) || pipe(more)) return 1;
    pid_t child = fork();
    if (child == 0) {
        if (write(ready[1], "r", 1) != 1) _exit(1);
        ssize_t got = read(more[0], &byte, 1);
        _exit(handled == SIGTERM && (got == 1 || errno == EINTR) ? got == 1 : 3);
    }
    if (read(ready[0], &byte, 1) != 1) return 2;
    usleep(1000);
    kill(child, SIGTERM);
    usleep(1000);
    if (write(more[1], "x", 1) != 1) return 3;
    waitpid(child, &status, 0);
    printf("%x\n", (unsigned)status);
    return 0;
}
