/* Locks of files, and the queues and semaphores of System V. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/stat.h>

#include "addresses.h"
#include "clock.h"
#include "descriptor_numbers.h"
#include "descriptors.h"
#include "file_locks.h"
#include "process_state.h"
#include "real.h"
#include "trying.h"

/* -- locks of files -------------------------------------------------------------------------- */

static uint32_t file_of(int fd, uint64_t site) {
    struct stat status;
    if (fstat(fd, &status) < 0) return current_resource();
    return numbered(LOCKED_FILES, status.st_ino, FILE_LOCK, site);
}

static enum outsider outsider_with_lock(const struct call *call) {
    struct stat status;
    bool is_outside = fstat((int)call->numbers[0], &status) == 0 && lock_owner_outside(status.st_ino);
    return is_outside ? CONNECTED : NOBODY;
}

static long try_flock(const struct call *call) {
    return REAL(flock)((int)call->numbers[0], (int)call->numbers[1] | LOCK_NB);
}

EXPORT int flock(int fd, int operation) {
    CONTROLLED(flock, fd, operation);
    uint32_t resource = file_of(fd, SITE);
    if (operation & LOCK_UN) {
        perform(RELEASE, resource, SITE);
        int result = REAL(flock)(fd, operation);
        let_go(resource, SITE);
        return result;
    }
    if (operation & LOCK_NB) {
        perform(TRY_ACQUIRE, resource, SITE);
        int result = REAL(flock)(fd, operation);
        if (result < 0) fruitless(SITE);
        return result;
    }
    struct call call = {try_flock, NULL, {fd, operation}, outsider_with_lock, 0, false};
    return (int)persist(&call, ACQUIRE, resource, SITE);
}

/* Parts of files that processes lock belong to them, and the kernel refuses a lock for which each would wait for the
 * next one: so does this, by what each of them has found last. */
static bool closes_a_circle(int32_t holder) {
    for (uint32_t length = 0; length < segment->processes; length++) {
        const struct process *process = NULL;
        for (uint32_t i = 0; i < segment->processes && !process; i++)
            if (PROCESSES[i].pid == holder && PROCESSES[i].state == ALIVE) process = &PROCESSES[i];
        /* Whoever has not tried since somebody let go finds out by itself. */
        if (!process || !process->locked_out_by || process->locked_out_since != segment->releases) return false;
        holder = process->locked_out_by;
        if (holder == PROCESSES[this_process].pid) return true;
    }
    return false;
}

static long locked_out(int fd, const struct flock *part) {
    struct flock other = *part;
    int error = errno;
    if (REAL(fcntl)(fd, F_GETLK, &other) == 0 && other.l_type != F_UNLCK) {
        if (closes_a_circle(other.l_pid)) {
            errno = EDEADLK;
            return -1;
        }
        PROCESSES[this_process].locked_out_by = other.l_pid;
        PROCESSES[this_process].locked_out_since = segment->releases;
    }
    errno = error;
    return -1;
}

static long try_fcntl(const struct call *call) {
    int fd = (int)call->numbers[0], command = (int)call->numbers[1];
    long result = REAL(fcntl)(fd, command, call->what);
    bool waits = result < 0 && (errno == EAGAIN || errno == EACCES);
    return waits && command == F_SETLK ? locked_out(fd, call->what) : result;
}

static int control(int fd, int command, void *argument, uint64_t site) {
    bool makes = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
    number_operation(makes ? SET : INSPECT, site);
    /* A fork of another task may come before, and its child then lets a new program inherit the descriptor. */
    if (command == F_SETFD) process_state_operation(SET, INHERITED_DESCRIPTORS, site);
    bool waits = command == F_SETLKW || command == F_OFD_SETLKW;
    if (command == F_GETFL) descriptor_asked(fd, site);
    if (command == F_SETFL) {
        descriptor_sets_mode();
        descriptor_setting(fd, site);
        return (int)descriptor_gave(number_used(fd, REAL(fcntl)(fd, command, argument)), site);
    }
    if (!waits && command != F_SETLK && command != F_OFD_SETLK)
        return (int)number_used(fd, REAL(fcntl)(fd, command, argument));
    REFUSED_IF(leads_nowhere(argument), fcntl, fd, command, argument);
    const struct flock *lock = argument;
    uint32_t resource = file_of(fd, site);
    if (lock->l_type == F_UNLCK) {
        perform(RELEASE, resource, site);
        int result = REAL(fcntl)(fd, command, argument);
        let_go(resource, site);
        return result;
    }
    if (!waits) {
        perform(TRY_ACQUIRE, resource, site);
        int result = REAL(fcntl)(fd, command, argument);
        if (result < 0) fruitless(site);
        return result;
    }
    struct call call = {
        try_fcntl, argument, {fd, command == F_SETLKW ? F_SETLK : F_OFD_SETLK},
        outsider_with_lock, 0, false,
    };
    int result = (int)persist(&call, ACQUIRE, resource, site);
    PROCESSES[this_process].locked_out_by = 0;
    return result;
}

#define CONTROLS(name) \
    EXPORT int name(int fd, int command, ...) { \
        va_list arguments; \
        va_start(arguments, command); \
        void *argument = va_arg(arguments, void *); \
        va_end(arguments); \
        CONTROLLED(name, fd, command, argument); \
        return control(fd, command, argument, SITE); \
    }

CONTROLS(fcntl)
CONTROLS(fcntl64)

static long try_lockf(const struct call *call) {
    int fd = (int)call->numbers[0];
    long result = REAL(lockf64)(fd, F_TLOCK, call->numbers[1]);
    if (result >= 0 || (errno != EAGAIN && errno != EACCES)) return result;
    const struct flock part = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_len = call->numbers[1]};
    return locked_out(fd, &part);
}

static int lock_part(int fd, int command, off64_t length, uint64_t site) {
    uint32_t resource = file_of(fd, site);
    if (command == F_TEST || command == F_TLOCK) {
        perform(command == F_TEST ? INSPECT : TRY_ACQUIRE, resource, site);
        int result = REAL(lockf64)(fd, command, length);
        if (result < 0) fruitless(site);
        return result;
    }
    if (command == F_ULOCK) {
        perform(RELEASE, resource, site);
        int result = REAL(lockf64)(fd, command, length);
        let_go(resource, site);
        return result;
    }
    struct call call = {try_lockf, NULL, {fd, length}, outsider_with_lock, 0, false};
    int result = (int)persist(&call, ACQUIRE, resource, site);
    PROCESSES[this_process].locked_out_by = 0;
    return result;
}

EXPORT int lockf(int fd, int command, off_t length) {
    CONTROLLED(lockf, fd, command, length);
    return lock_part(fd, command, length, SITE);
}

EXPORT int lockf64(int fd, int command, off64_t length) {
    CONTROLLED(lockf64, fd, command, length);
    return lock_part(fd, command, length, SITE);
}

/* -- System V -------------------------------------------------------------------------------- */

static long try_to_send(const struct call *call) {
    return REAL(msgsnd)((int)call->numbers[0], call->what, (size_t)call->numbers[1],
                        (int)call->numbers[2] | IPC_NOWAIT);
}

EXPORT int msgsnd(int queue, const void *message, size_t size, int flags) {
    CONTROLLED(msgsnd, queue, message, size, flags);
    uint32_t resource = numbered(QUEUES, (uint32_t)queue, DESCRIPTOR, SITE);
    struct call call = {try_to_send, message, {queue, (long)size, flags}, NULL, 0, true};
    int result;
    if (flags & IPC_NOWAIT) {
        perform(PUT, resource, SITE);
        result = (int)try_to_send(&call);
    } else {
        result = (int)persist(&call, PUT, resource, SITE);
    }
    if (result == 0) let_go(resource, SITE);
    return result;
}

static long try_to_receive(const struct call *call) {
    return REAL(msgrcv)((int)call->numbers[0], (void *)(uintptr_t)call->what,
                        (size_t)call->numbers[1], call->numbers[2],
                        (int)call->numbers[3] | IPC_NOWAIT);
}

EXPORT ssize_t msgrcv(int queue, void *message, size_t size, long type, int flags) {
    CONTROLLED(msgrcv, queue, message, size, type, flags);
    uint32_t resource = numbered(QUEUES, (uint32_t)queue, DESCRIPTOR, SITE);
    struct call call = {try_to_receive, message, {queue, (long)size, type, flags}, NULL, 0, true};
    long result;
    if (flags & IPC_NOWAIT) {
        perform(GET, resource, SITE);
        result = try_to_receive(&call);
    } else {
        result = persist(&call, GET, resource, SITE);
    }
    if (result >= 0) let_go(resource, SITE);
    return result;
}

/* More operations at once than anybody has use for are left to the kernel. */
#define MOST_OPERATIONS 32

static long try_semaphores(const struct call *call) {
    struct sembuf operations[MOST_OPERATIONS];
    size_t count = (size_t)call->numbers[1];
    memcpy(operations, call->what, count * sizeof *operations);
    for (size_t i = 0; i < count; i++) operations[i].sem_flg |= IPC_NOWAIT;
    return REAL(semop)((int)call->numbers[0], operations, count);
}

static int operate(int set, struct sembuf *operations, size_t count, uint64_t deadline, uint64_t site) {
    uint32_t resource = numbered(SEMAPHORES, (uint32_t)set, DESCRIPTOR, site);
    bool waits = true;
    for (size_t i = 0; i < count; i++) waits &= !(operations[i].sem_flg & IPC_NOWAIT);
    struct call call = {try_semaphores, operations, {set, (long)count}, NULL, deadline, true};
    int result;
    if (waits) {
        result = (int)persist(&call, GET, resource, site);
        if (result < 0 && errno == ETIMEDOUT) errno = EAGAIN;
    } else {
        perform(GET, resource, site);
        result = REAL(semop)(set, operations, count);
    }
    if (result == 0) let_go(resource, site);
    return result;
}

EXPORT int semop(int set, struct sembuf *operations, size_t count) {
    CONTROLLED(semop, set, operations, count);
    REFUSED_IF(count > MOST_OPERATIONS || leads_nowhere(operations), semop, set, operations, count);
    return operate(set, operations, count, 0, SITE);
}

EXPORT int semtimedop(int set, struct sembuf *operations, size_t count, const struct timespec *time) {
    CONTROLLED(semtimedop, set, operations, count, time);
    REFUSED_IF(count > MOST_OPERATIONS || leads_nowhere(operations) ||
                   misleads(time) || (time && !valid_time(time)),
               semtimedop, set, operations, count, time);
    return operate(set, operations, count, time ? call_deadline(deadline_after(time)) : 0, SITE);
}
