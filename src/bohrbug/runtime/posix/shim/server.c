#include "server.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "real.h"

#define WANTED "BOHRBUG_SERVER"
/* Where standard input is found anew in each execution. */
#define INPUT "BOHRBUG_INPUT"

bool server_is_wanted(void) { return getenv(WANTED) != NULL; }

static void become_an_execution(const char *input) {
    REAL(close)(SERVER_FD);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Of its own: some servers end by kill(0, SIGTERM). */
    setsid();
    int fd = input ? (int)syscall(SYS_openat, AT_FDCWD, input, O_RDONLY) : -1;
    if (fd > 0) {
        REAL(dup2)(fd, 0);
        REAL(close)(fd);
    }
}

/* Files that were opened before main would share their position among all executions. */
static bool has_open_files(void) {
    for (int fd = 3; fd < 256; fd++) {
        struct stat status;
        if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) return true;
    }
    return false;
}

static bool tell(struct answer answer) {
    return REAL(write)(SERVER_FD, &answer, sizeof answer) == sizeof answer;
}

void server_run(void) {
    const char *input = getenv(INPUT);
    unsetenv(WANTED);
    unsetenv(INPUT);
    REAL(fflush)(NULL);
    char order;
    if (!tell((struct answer){has_open_files() ? -1 : (int)getpid(), 0})) REAL(_exit)(0);
    while (REAL(read)(SERVER_FD, &order, 1) == 1) {
        struct answer answer = {0, -1};
        answer.pid = REAL(fork)();
        if (answer.pid == 0) {
            become_an_execution(input);
            return;
        }
        if (answer.pid > 0) REAL(waitpid)(answer.pid, &answer.status, 0);
        if (!tell(answer)) break;
    }
    REAL(_exit)(0);
}
