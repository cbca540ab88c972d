#include "copies.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "real.h"

#define FLAG_PIDFD 0x1000
#define MILLISECOND 1000000ULL

bool copy_make(struct copy *copy) {
    *copy = (struct copy){.descriptor = -1};
    long process = syscall(SYS_clone, FLAG_PIDFD, NULL, &copy->descriptor, NULL, 0);
    copy->process = (pid_t)process;
    return process >= 0;
}

static void collect(struct copy *copy) {
    while (syscall(SYS_wait4, copy->process, &copy->status, __WALL, NULL) < 0 && errno == EINTR) {}
    syscall(SYS_close, copy->descriptor);
    copy->descriptor = -1;
}

void copies_wait(struct copy *copies, uint32_t count, uint64_t nanoseconds) {
    uint64_t deadline = real_now() + nanoseconds;
    struct pollfd ends[MOST_FRAGMENTS];
    for (uint32_t left = count; left;) {
        for (uint32_t i = 0; i < count; i++)
            ends[i] = (struct pollfd){copies[i].descriptor, POLLIN, 0};
        uint64_t now = real_now();
        bool is_late = now >= deadline;
        int patience = is_late ? 0 : (int)((deadline - now) / MILLISECOND) + 1;
        if (!is_late && REAL(poll)(ends, count, patience) < 0) continue;
        for (uint32_t i = 0; i < count; i++) {
            if (copies[i].descriptor < 0 || !(is_late || ends[i].revents)) continue;
            copies[i].was_late = !ends[i].revents;
            if (copies[i].was_late) syscall(SYS_kill, copies[i].process, SIGKILL);
            collect(&copies[i]);
            left--;
        }
    }
}
