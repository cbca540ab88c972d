#include "process.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ending.h"
#include "task.h"
#include "thread.h"

void process_begin(void) {
    this_process = segment->processes++;
    struct process *process = &PROCESSES[this_process];
    process->pid = (int32_t)syscall(SYS_getpid);
    process->parent = NONE;
    process->state = ALIVE;
    process->joined = 1;
    struct task *task = task_prepare(NULL, this_process);
    task->thread = process->pid;
    task->handle = (uint64_t)pthread_self();
    task->main = 1;
    task->begun = 1;
    task_enliven(task);
    process->main_task = index_of(task);
    segment->running = index_of(task);
    current = task;
    thread_watch_end();
}

bool child_ended(uint32_t process, int32_t pid) {
    for (uint32_t i = 0; i < segment->processes; i++) {
        const struct process *child = &PROCESSES[i];
        if (child->parent == process && !child->collected && child->state == OVER &&
            (pid == -1 || child->pid == pid))
            return true;
    }
    return false;
}

bool processes_outside(void) { return false; }

void processes_wait(struct task *task) {
    syscall(SYS_futex, &task->turn, FUTEX_WAIT, 0, NULL, NULL, 0);
}

void wait_for_the_dying(void) {}
