#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "asking.h"
#include "cancellation.h"
#include "clock.h"
#include "descriptor_numbers.h"
#include "live.h"
#include "real.h"

/* Sockets have an inode for each end, so all of them count as one resource. */
#define SOCKETS 1
#define OTHERS 2
#define PIPES 3
/* 4 is FAULT_SPACE, 5 to 12 are those of trying.h */
#define TAKEN 13

/* What each task of this process waits for.  A handler that runs meanwhile may wait for something itself, and then puts
 * this back. */
static struct wait {
    struct pollfd *descriptors;
    nfds_t count;
    bool is_within_call;       /* for one descriptor, in the call that operates on it */
    uint64_t next_look;        /* beside live rounds, a step */
    uint32_t resource;         /* that it has operated on last, or NONE */
} waits[MOST_TASKS];

static bool look(struct task *task) {
    uint32_t index = index_of(task);
    int error = errno;
    bool ready = REAL(poll)(waits[index].descriptors, waits[index].count, 0) > 0;
    errno = error;
    for (nfds_t i = 0; !ready && i < waits[index].count; i++)
        if (waits[index].descriptors[i].events & POLLOUT) descriptor_lacks_room();
    return ready;
}

/* The most that anybody outside has to do with what the task waits for. */
static enum outsider outsider_of_task(const struct task *task, enum outsider (*of)(int)) {
    uint32_t index = index_of(task);
    enum outsider most = NOBODY;
    for (nfds_t i = 0; i < waits[index].count; i++) {
        int fd = waits[index].descriptors[i].fd;
        enum outsider outsider = fd < 0 ? NOBODY : of(fd);
        if (outsider > most) most = outsider;
    }
    return most;
}

void descriptors_look(struct task *task) {
    task->fd_ready = look(task);
    task->fd_checked = segment->fd_changes;
    if (segment->looks_closely) task->fd_outside = outsider_of_task(task, outsider_behind);
}

/* To ask the kernel at each step of a run that is to be nearly as fast as ever would be too slow.  A task that is
 * found ready some steps later was it no earlier, for all that anybody can tell. */
#define STEPS_BETWEEN_LOOKS 64

static bool is_found_ready(struct task *task) {
    uint32_t index = index_of(task);
    uint64_t step = live->forgotten + segment->steps;
    bool is_due = step >= waits[index].next_look;
    if (!task->fd_ready && !is_due) return false;
    task->fd_ready = look(task);
    if (!task->fd_ready) waits[index].next_look = step + STEPS_BETWEEN_LOOKS;
    return task->fd_ready;
}

bool descriptors_ready(struct task *task) {
    if (live && task->process == this_process) return is_found_ready(task);
    if (task->process == this_process) return look(task);
    if (task->fd_checked == segment->fd_changes) return task->fd_ready;
    return ask_owner(task) && task->fd_ready;
}

enum outsider descriptors_outsider(void) {
    uint32_t most = NOBODY;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct task *task = &TASKS[segment->alive[i]];
        bool waits = task->condition == FD_READY || task->condition == TRIED;
        if (waits && task->fd_outside > most) most = task->fd_outside;
    }
    return (enum outsider)most;
}

bool descriptor_may_block(int fd) {
    struct stat status;
    /* What is printed is no operation in a test, where it goes to a file. */
    if (live && (fd == 1 || fd == 2)) return false;
    int error = errno;
    bool known = fstat(fd, &status) == 0;
    errno = error;
    mode_t type = status.st_mode & S_IFMT;
    /* Descriptors of events, timers and processes have no type. */
    return known && (type == S_IFIFO || type == S_IFSOCK || type == 0);
}

bool descriptor_is_socket(int fd) {
    struct stat status;
    int error = errno;
    bool known = fstat(fd, &status) == 0;
    errno = error;
    return known && S_ISSOCK(status.st_mode);
}

uint32_t descriptor_of_sockets(uint64_t site) {
    return resource_index(resource_named(SOCKETS, 0, DESCRIPTOR, site));
}

static uint32_t resource_of(int fd, uint64_t site) {
    struct stat status;
    if (fstat(fd, &status) < 0) return current_resource();
    if (S_ISFIFO(status.st_mode))
        return resource_index(resource_named(PIPES, status.st_ino, DESCRIPTOR, site));
    uint64_t space = S_ISSOCK(status.st_mode) ? SOCKETS : OTHERS;
    return resource_index(resource_named(space, 0, DESCRIPTOR, site));
}

uint32_t descriptor_fifo(int folder, const char *path, uint64_t site) {
    struct stat status;
    if (fstatat(folder, path, &status, 0) < 0) return current_resource();
    return resource_index(resource_named(PIPES, status.st_ino, DESCRIPTOR, site));
}

/* What stands for that others take what is put there: the point behind a call that puts something there depends on theirs,
 * and not on those that put something there, too.  Where polls matter, they all depend on each other anyway. */
static uint32_t taken_from(uint32_t resource, uint64_t site) {
    uint64_t place = segment->polls_matter ? 0 : resource + 1;
    return resource_index(resource_named(TAKEN, place, DESCRIPTOR, site));
}

/* The operation that follows takes what somebody else has put there. */
static void takes_from(uint32_t resource, uint64_t site) {
    if (has_point_behind_call()) current->also = taken_from(resource, site);
}

bool descriptor_is_any(const struct resource *resource) {
    return (resource->space & ~((uint64_t)1 << 63)) == OTHERS;
}

static enum woken wait_for(enum kind kind, uint32_t resource, struct pollfd *descriptors,
                           nfds_t count, uint64_t deadline, uint8_t signals, uint64_t site) {
    struct task *task = current;
    uint32_t index = index_of(task);
    const struct wait before = waits[index];
    waits[index].descriptors = descriptors;
    waits[index].count = count;
    waits[index].next_look = 0;
    /* Which ports are ours has to be known before anybody else connects. */
    task->fd_outside = outsider_of_task(task, outsider_of);
    task->fd_checked = segment->fd_changes - 1;
    struct waiting waiting = {FD_READY, 0, deadline, true, signals};
    enum woken woken = perform_when(kind, resource, site, waiting);
    waits[index] = before;
    segment->fd_changes++;
    cancellation_point();
    return woken;
}

/* How long a call waits at most (SO_RCVTIMEO, SO_SNDTIMEO). */
static uint64_t deadline_of(int fd, enum kind kind) {
    struct timeval most = {0, 0};
    socklen_t size = sizeof most;
    int error = errno;
    int known = getsockopt(fd, SOL_SOCKET, kind == GET ? SO_RCVTIMEO : SO_SNDTIMEO, &most, &size);
    errno = error;
    if (known < 0 || (most.tv_sec == 0 && most.tv_usec == 0)) return NO_DEADLINE;
    return deadline_after(&(struct timespec){most.tv_sec, most.tv_usec * 1000});
}

static bool never_waits(int fd) {
    int error = errno, flags = REAL(fcntl)(fd, F_GETFL);
    errno = error;
    return flags < 0 || flags & O_NONBLOCK;
}

static bool operate(enum kind kind, int *used, short events, uint64_t site, bool restarts) {
    int fd = *used;
    uint32_t resource = resource_of(fd, site), index = index_of(current);
    bool takes = kind == GET || segment->room_matters;
    /* Behind the point it waits, or not, as was set by then; without it, it would be in the call already. */
    if (segment->modes_matter && events && !never_waits(fd)) perform(INSPECT, resource, site);
    if (!events || never_waits(fd)) {
        if (takes) takes_from(resource, site);
        perform(kind, resource, site);
        waits[index].resource = resource;
        segment->fd_changes++;
        /* Meanwhile another task may have closed it, and the number may be that of one which waits. */
        if (!events || never_waits(fd)) return true;
    }
    struct pollfd descriptor = {fd, events, 0};
    uint64_t deadline = deadline_of(fd, kind);
    /* Calls that wait for a limited time are not restarted. */
    bool goes_on = deadline == NO_DEADLINE;
    enum woken woken;
    do {
        bool before = waits[index].is_within_call;
        waits[index].is_within_call = !restarts;
        if (takes) takes_from(resource, site);
        woken = wait_for(kind, resource, &descriptor, 1, deadline, goes_on ? SIGNALS : ANY_SIGNAL, site);
        waits[index].is_within_call = before;
        waits[index].resource = resource;
    } while (woken == INTERRUPTED && (restarts || (goes_on && current->restarts)));
    *used = descriptor.fd;
    if (woken != INTERRUPTED && woken != TIMED_OUT) return true;
    number_used(*used, 0);
    errno = woken == TIMED_OUT ? EAGAIN : EINTR;
    return false;
}

bool descriptor_operation(enum kind kind, int *fd, short events, uint64_t site) {
    return operate(kind, fd, events, site, false);
}

void descriptor_stream(enum kind kind, int fd, short events, uint64_t site) {
    operate(kind, &fd, events, site, true);
}

void descriptor_outlived(int fd) {
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        uint32_t index = segment->alive[i];
        struct task *task = &TASKS[index];
        if (task->process != this_process || task->condition != FD_READY || !waits[index].is_within_call) continue;
        if (waits[index].descriptors->fd != fd || look(task)) continue;
        int kept = number_kept(fd);
        if (kept >= 0) waits[index].descriptors->fd = kept;
    }
}

enum woken descriptors_wait(struct pollfd *descriptors, nfds_t count, uint64_t deadline,
                            uint64_t site) {
    uint32_t resource = resource_index(resource_named(OTHERS, 0, DESCRIPTOR, site));
    if (segment->polls_matter) takes_from(resource, site);
    return wait_for(GET, resource, descriptors, count, deadline, ANY_SIGNAL, site);
}

void descriptors_inspect(uint64_t site) {
    uint32_t resource = resource_index(resource_named(OTHERS, 0, DESCRIPTOR, site));
    if (segment->polls_matter) takes_from(resource, site);
    perform(INSPECT, resource, site);
    segment->fd_changes++;
    fruitless(site);
}

void descriptor_change(int fd, uint64_t site) {
    bool may_block = descriptor_may_block(fd);
    uint32_t resource = may_block ? resource_of(fd, site) : NONE;
    if (may_block) perform(SET, resource, site);
    waits[index_of(current)].resource = resource;
    segment->fd_changes += may_block;
}

void descriptor_setting(int fd, uint64_t site) {
    if (segment->alive_count > 1) descriptor_change(fd, site);
}

void descriptor_asked(int fd, uint64_t site) {
    if (segment->alive_count < 2 || !descriptor_may_block(fd)) return;
    perform(INSPECT, resource_of(fd, site), site);
    fruitless(site);
}

void descriptor_sets_mode(void) {
    if (segment->alive_count > 1) segment->set_modes = 1;
}

ssize_t descriptor_gave(ssize_t result, uint64_t site) {
    uint32_t resource = waits[index_of(current)].resource;
    if (result >= 0 && resource != NONE && has_point_behind_call()) after_call(taken_from(resource, site), site);
    return result;
}

ssize_t descriptor_took(ssize_t result, uint64_t site) {
    return segment->room_matters ? descriptor_gave(result, site) : result;
}

void descriptor_lacks_room(void) { segment->lacked_room = 1; }
