#include "readiness.h"

#include "descriptors.h"
#include "process.h"

bool is_satisfied_outside(struct task *task) {
    switch ((enum condition)task->condition) {
    case FD_READY:
        return descriptors_ready(task);
    case CHILD_ENDED:
        return child_ended(task->process, (int32_t)task->target);
    case SIGNAL_SENT:
        return signal_is_pending(task);
    default:
        return false;
    }
}

bool is_ready_somehow(struct task *task) {
    if (task->cancellable && is_cancelled(task)) return true;
    if (task->interruptible && signal_interrupts(task)) return true;
    return is_satisfied(task);
}
