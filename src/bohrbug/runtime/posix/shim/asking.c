#include "asking.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "descriptors.h"
#include "process.h"
#include "signals.h"
#include "trying.h"
#include "turns.h"

static void look(struct task *task) {
    if (task->condition == FD_READY) descriptors_look(task);
    if (task->condition == TRIED) try_again(task);
    if (segment->looks_closely) signals_gather(task);
}

void answer(struct task *task) {
    look(task);
    is_done_with(task, TO_ANSWER);
    __atomic_add_fetch(&segment->probe, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &segment->probe, FUTEX_WAKE, 1, NULL, NULL, 0);
}

bool ask_owner(struct task *task) {
    uint32_t before = __atomic_load_n(&segment->probe, __ATOMIC_ACQUIRE);
    tell(task, TO_ANSWER);
    /* A signal, such as a nudge, may interrupt the wait, and on a busy machine it may take long: what is
     * read before the answer is there would be that to an earlier question. */
    while (__atomic_load_n(&segment->probe, __ATOMIC_ACQUIRE) == before) {
        struct timespec patience = {0, 50000000};
        long result = syscall(SYS_futex, &segment->probe, FUTEX_WAIT, before, &patience, NULL, 0);
        if (result >= 0 || errno != ETIMEDOUT) continue;
        if (!process_cannot_answer(PROCESSES[task->process].pid)) continue;
        is_done_with(task, TO_ANSWER);
        return false;
    }
    return true;
}

void look_closely(void) {
    segment->looks_closely = 1;
    segment->timers_run = 0;
    segment->fd_changes++;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        struct task *task = &TASKS[segment->alive[i]];
        bool outside = task->condition == FD_READY || task->condition == SIGNAL_SENT ||
                       task->condition == TRIED || task->interruptible;
        if (!outside) continue;
        if (task->process == this_process) look(task);
        else ask_owner(task);
    }
    segment->looks_closely = 0;
}
