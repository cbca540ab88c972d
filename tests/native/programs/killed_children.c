/* Children that are killed while they wait: they are gone, and can be waited for; one that ignores the
 * signal and one that handles it live on. */
#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void handle(int number) {
    (void)number;
    handled = 1;
}

/* A child that waits for a byte that may never come. */
static pid_t waiting(const int *ends, void (*action)(int)) {
    int ready[2];
    assert(pipe(ready) == 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        if (action != SIG_DFL) signal(SIGTERM, action);
        assert(write(ready[1], "x", 1) == 1);
        while (read(ends[0], &byte, 1) != 1) continue;
        _exit(action == handle ? !handled : 7);
    }
    char byte;
    assert(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

int main(void) {
    int ends[2], status;
    assert(pipe(ends) == 0);

    pid_t child = waiting(ends, SIG_DFL);
    kill(child, SIGTERM);
    assert(waitpid(child, &status, 0) == child);
    assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);

    child = waiting(ends, SIG_IGN);
    kill(child, SIGTERM);
    assert(write(ends[1], "x", 1) == 1);
    assert(waitpid(child, &status, 0) == child);
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);

    child = waiting(ends, handle);
    kill(child, SIGTERM);
    assert(write(ends[1], "x", 1) == 1);
    assert(waitpid(child, &status, 0) == child);
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);

    child = waiting(ends, SIG_DFL);
    kill(child, SIGKILL);
    assert(waitpid(child, &status, 0) == child);
    assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return 0;
}
