/* Correct: a handler collects children, while their parent sleeps until it has, as rsync does. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN = 3 };
static volatile sig_atomic_t collected;

static void collect(int number) {
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) collected++;
}

int main(void) {
    struct sigaction action = {.sa_handler = collect};
    sigaction(SIGCHLD, &action, NULL);
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0) _exit(0);
    while (collected < CHILDREN) {
        struct timespec pause = {0, 20000000};
        nanosleep(&pause, NULL);
    }
    return 0;
}
