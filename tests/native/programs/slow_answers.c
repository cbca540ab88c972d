/* Three processes pass a byte around.  Each waits for so many descriptors that it takes long to find out
 * whether one of them is ready; and all of them get a signal all the time, as from a starter that takes them
 * to be stuck. */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 3
#define ROUNDS 8
#define DESCRIPTORS 1000

#define NUDGE 62

/* By calls that nobody sees, in a process that nobody knows of. */
static void pester(void) {
    static const uint64_t all = UINT64_MAX;
    static const struct timespec pause = {0, 100000};
    uint64_t before;
    long own = syscall(SYS_getpid);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof all);
    if (syscall(SYS_clone, 0, 0, 0, 0, 0) == 0) {
        while (syscall(SYS_getppid) == own && syscall(SYS_kill, 0, NUDGE) == 0)
            syscall(SYS_nanosleep, &pause, 0);
        syscall(SYS_exit_group, 0);
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof before);
}

int main(void) {
    static struct pollfd descriptors[DESCRIPTORS];
    int pipes[PROCESSES][2], failed = 0, status;
    char byte = 'x';
    for (int i = 0; i < PROCESSES; i++)
        if (pipe(pipes[i])) return 2;
    for (int i = 0; i < PROCESSES; i++) {
        if (fork()) continue;
        for (int j = 0; j < DESCRIPTORS; j++)
            descriptors[j] = (struct pollfd){pipes[i][0], POLLIN, 0};
        for (int round = 0; round < ROUNDS; round++) {
            if (poll(descriptors, DESCRIPTORS, -1) < 1) _exit(3);
            if (read(pipes[i][0], &byte, 1) != 1) _exit(4);
            if (write(pipes[(i + 1) % PROCESSES][1], &byte, 1) != 1) _exit(5);
        }
        _exit(0);
    }
    pester();
    if (write(pipes[0][1], &byte, 1) != 1) return 6;
    for (int i = 0; i < PROCESSES; i++) failed |= wait(&status) < 0 || status;
    return failed;
}
