/* Killing a process that is parked. */
#include "killing.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "process.h"
#include "schedule.h"
#include "turns.h"

#define BIT(number) (1ULL << ((number) - 1))

/* What ends a process that does nothing about it, faults left out: these have handlers of ours. */
static const uint64_t fatal = BIT(SIGHUP) | BIT(SIGINT) | BIT(SIGQUIT) | BIT(SIGKILL) | BIT(SIGUSR1) |
                              BIT(SIGUSR2) | BIT(SIGPIPE) | BIT(SIGALRM) | BIT(SIGTERM) |
                              BIT(SIGVTALRM) | BIT(SIGPROF) | BIT(SIGIO) | BIT(SIGXCPU);

/* A task parks with all signals blocked, so that no handler runs while another task does.  These have
 * none. */
void face_fatal_signals(uint64_t own_mask) {
    uint64_t unhandled = fatal & ~PROCESSES[this_process].handled & ~own_mask;
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &unhandled, NULL, sizeof unhandled);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &unhandled, NULL, sizeof unhandled);
}

static bool dies_in(struct task *task, int32_t pid) {
    tell(task, TO_FACE_SIGNALS);
    for (int patience = 0; patience < 100000; patience++) {
        if (process_is_gone(pid)) return true;
        if (__atomic_load_n(&task->turn, __ATOMIC_ACQUIRE) == PARKED) break;
        struct timespec pause = {0, 20000};
        syscall(SYS_nanosleep, &pause, NULL);
    }
    return process_is_gone(pid);
}

void let_die(uint32_t index, int number) {
    const struct process *process = &PROCESSES[index];
    if (!process->joined || process->state != ALIVE || number < 1 || number > 64) return;
    if (!(fatal & BIT(number) & ~process->handled)) return;
    for (uint32_t i = 0; i < segment->tasks; i++) {
        struct task *task = &TASKS[i];
        if (task->process != index || task->state != ALIVE) continue;
        if (!dies_in(task, process->pid)) continue;
        process_is_over(index);
        return;
    }
}
