/* The message queues of POSIX.  What they are told by is a descriptor, for poll and its like, too. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "clock.h"
#include "object_names.h"
#include "real.h"
#include "trying.h"

static uint32_t queue_of(mqd_t queue, uint64_t site) {
    struct stat status;
    if (fstat(queue, &status) < 0) return current_resource();
    return numbered(MESSAGE_QUEUES, status.st_ino, DESCRIPTOR, site);
}

/* What a call with a timeout in the past gives where it would have to wait. */
static long not_yet(long result) {
    if (result < 0 && errno == ETIMEDOUT) errno = EAGAIN;
    return result;
}

static const struct timespec at_once = {0, 0};

static long try_to_send(const struct call *call) {
    return not_yet(REAL(mq_timedsend)((mqd_t)call->numbers[0], call->what,
                                      (size_t)call->numbers[1], (unsigned)call->numbers[2],
                                      &at_once));
}

static long try_to_receive(const struct call *call) {
    return not_yet(REAL(mq_timedreceive)((mqd_t)call->numbers[0], (char *)(uintptr_t)call->what,
                                         (size_t)call->numbers[1],
                                         (unsigned *)(uintptr_t)call->numbers[2], &at_once));
}

/* The kernel looks at the time only where it has to wait, and so does this. */
static bool has_time(struct call *call, const struct timespec *time) {
    bool valid = !time || valid_time(time);
    if (valid && time) call->deadline = call_deadline(deadline_at(CLOCK_REALTIME, time));
    return valid;
}

static long operate(struct call *call, enum kind kind, const struct timespec *time, uint64_t site) {
    mqd_t queue = (mqd_t)call->numbers[0];
    uint32_t resource = queue_of(queue, site);
    perform(kind, resource, site);
    bool waits = !(REAL(fcntl)(queue, F_GETFL) & O_NONBLOCK) && has_time(call, time);
    long result = waits ? persist_from_now(call, kind, resource, site) : call->attempt(call);
    if (result < 0 && errno == EAGAIN) {
        fruitless(site);
        errno = time && !valid_time(time) ? EINVAL : EAGAIN;
    }
    if (result < 0) return result;
    segment->fd_changes++;
    let_go(resource, site);
    return result;
}

static int put_message(mqd_t queue, const char *text, size_t length, unsigned priority,
                       const struct timespec *time, uint64_t site) {
    struct call call = {
        .attempt = try_to_send,
        .what = text,
        .numbers = {queue, (long)length, priority},
    };
    return (int)operate(&call, PUT, time, site);
}

static ssize_t get_message(mqd_t queue, char *text, size_t size, unsigned *priority,
                           const struct timespec *time, uint64_t site) {
    struct call call = {
        .attempt = try_to_receive,
        .what = text,
        .numbers = {queue, (long)size, (long)(uintptr_t)priority},
    };
    return operate(&call, GET, time, site);
}

/* -- what programs call ---------------------------------------------------------------------- */

EXPORT mqd_t mq_open(const char *name, int flags, ...) {
    mode_t mode = 0;
    struct mq_attr *attributes = NULL;
    if (flags & O_CREAT) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        attributes = va_arg(arguments, struct mq_attr *);
        va_end(arguments);
    }
    CONTROLLED(mq_open, name, flags, mode, attributes);
    object_opening(NAMES_OF_QUEUES, name, flags, SITE);
    return REAL(mq_open)(name, flags, mode, attributes);
}

/* As <mqueue.h> has it for programs whose arguments are checked. */
EXPORT mqd_t __mq_open_2(const char *name, int flags) {
    CONTROLLED(__mq_open_2, name, flags);
    object_opening(NAMES_OF_QUEUES, name, flags, SITE);
    return REAL(__mq_open_2)(name, flags);
}

EXPORT int mq_unlink(const char *name) {
    CONTROLLED(mq_unlink, name);
    object_unlinking(NAMES_OF_QUEUES, name, SITE);
    return REAL(mq_unlink)(name);
}

EXPORT int mq_getattr(mqd_t queue, struct mq_attr *attributes) {
    CONTROLLED(mq_getattr, queue, attributes);
    perform(INSPECT, queue_of(queue, SITE), SITE);
    fruitless(SITE);
    return REAL(mq_getattr)(queue, attributes);
}

EXPORT int mq_setattr(mqd_t queue, const struct mq_attr *attributes, struct mq_attr *before) {
    CONTROLLED(mq_setattr, queue, attributes, before);
    uint32_t resource = queue_of(queue, SITE);
    perform(SET, resource, SITE);
    int result = REAL(mq_setattr)(queue, attributes, before);
    let_go(resource, SITE);
    return result;
}

EXPORT int mq_send(mqd_t queue, const char *text, size_t length, unsigned priority) {
    CONTROLLED(mq_send, queue, text, length, priority);
    return put_message(queue, text, length, priority, NULL, SITE);
}

EXPORT int mq_timedsend(mqd_t queue, const char *text, size_t length, unsigned priority,
                        const struct timespec *time) {
    CONTROLLED(mq_timedsend, queue, text, length, priority, time);
    return put_message(queue, text, length, priority, time, SITE);
}

EXPORT ssize_t mq_receive(mqd_t queue, char *text, size_t size, unsigned *priority) {
    CONTROLLED(mq_receive, queue, text, size, priority);
    return get_message(queue, text, size, priority, NULL, SITE);
}

EXPORT ssize_t mq_timedreceive(mqd_t queue, char *text, size_t size, unsigned *priority,
                               const struct timespec *time) {
    CONTROLLED(mq_timedreceive, queue, text, size, priority, time);
    return get_message(queue, text, size, priority, time, SITE);
}
