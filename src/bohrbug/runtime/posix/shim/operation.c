#include "operation.h"

#include "descriptors.h"
#include "process_state.h"
#include "task.h"

/* What a process has when it begins, and who takes a signal, depends on these. */
#define STATES_OF_KERNEL (1u << INHERITED_DESCRIPTORS | 1u << SIGNAL_MASKS)

uint32_t kernel_of_life(const struct task *task) {
    enum kind kind = (enum kind)task->kind;
    /* Whoever is reached may be told by its next operation of any kind. */
    if (kind == CONTINUE && task->target == HAS_REACHED) return WRITES_KERNEL;
    const struct task *other = &TASKS[task->resource & ~TASK_BIT];
    if (is_yield(kind)) return READS_KERNEL;
    if (other->process && (other->main || kind == END)) return WRITES_KERNEL;
    if (KIND_BIT(kind) & IS_DONE_TO_OTHERS || kind == WAIT) return WRITES_KERNEL;
    return kind == INSPECT || kind == END || kind == JOIN || task->cancellable ? READS_KERNEL : 0;
}

uint32_t kernel_of_resource(const struct resource *resource, enum kind kind) {
    if (resource->type == CHILDREN) return WRITES_KERNEL;
    if (resource->type == STATE) return STATES_OF_KERNEL >> (resource->address & 0xFF) & 1 ? READS_KERNEL : 0;
    if (kind == CONTINUE) return 0;
    return ON_DESCRIPTOR | (descriptor_is_any(resource) ? WRITES_KERNEL : READS_KERNEL);
}

struct touched touched_by_step(uint32_t step) {
    const struct step *done = &STEPS[step];
    return (struct touched){done->resource, done->effect, done->flags,
                            is_write((enum kind)done->kind)};
}

/* Whether both are memory, and have bytes in common. */
static bool overlap(uint32_t one, uint32_t other) {
    if ((one | other) & TASK_BIT) return false;
    const struct resource *first = &RESOURCES[one], *second = &RESOURCES[other];
    return first->bytes && second->bytes && first->space == second->space &&
           first->address < second->address + second->bytes &&
           second->address < first->address + first->bytes;
}

bool conflict(const struct touched *one, const struct touched *other) {
    if (one->resource == other->resource && (one->is_write || other->is_write)) return true;
    if (segment->overlaps && (one->is_write || other->is_write) &&
        overlap(one->resource, other->resource))
        return true;
    if (one->also != NONE && (one->also == other->also || one->also == other->resource)) return true;
    if (other->also != NONE && other->also == one->resource) return true;
    if (!segment->kernel_matters) return false;
    /* What ends the same wait must not count as independent: the wait ends with the first of them. */
    uint32_t writes = WRITES_KERNEL | (segment->polls_matter ? ON_DESCRIPTOR : 0);
    uint32_t either = READS_KERNEL | writes;
    return (one->kernel & writes && other->kernel & either) ||
           (other->kernel & writes && one->kernel & either);
}

bool is_unseen(enum kind kind, uint32_t resource) {
    if (!alone || resource & TASK_BIT || RESOURCES[resource].space != this_process) return false;
    enum type type = (enum type)RESOURCES[resource].type;
    /* Making, using and destroying it; whoever waits without a timeout is left to be seen. */
    bool uses = kind == ACQUIRE || kind == TRY_ACQUIRE || kind == RELEASE || kind == CONTINUE ||
                kind == SET;
    bool is_lock = type == MUTEX || type == RWLOCK || type == SEMAPHORE || type == SPINLOCK ||
                   type == ONCE;
    /* Where another process finds it held, although nobody has said that it is for several. */
    return uses && is_lock && !resource_in_shared_memory(&RESOURCES[resource]);
}
