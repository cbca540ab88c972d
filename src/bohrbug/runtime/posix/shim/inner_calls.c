/* Functions of the C library that read and write from inside of it, where nothing can be interposed on; and those
 * of which nothing more is known than that they were called. */
#include <aio.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "addresses.h"
#include "descriptor_numbers.h"
#include "descriptors.h"
#include "files.h"
#include "io.h"
#include "real.h"
#include "task.h"

/* -- formatted, to a descriptor ------------------------------------------------------------------ */

#define USUAL_LENGTH 1024

static int print_to(int fd, const char *format, va_list arguments, uint64_t site) {
    GUARD;
    char usual[USUAL_LENGTH], *text = usual;
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(usual, sizeof usual, format, arguments);
    if (length >= USUAL_LENGTH) {
        inside++;
        text = malloc((size_t)length + 1);
        inside--;
        if (text) vsnprintf(text, (size_t)length + 1, format, again);
        else length = -1;
    }
    va_end(again);
    for (ssize_t written = 0, piece; written < length; written += piece) {
        piece = write_to(fd, text + written, (size_t)(length - written), site);
        if (piece < 0) length = -1;
    }
    inside++;
    if (text != usual) free(text);
    inside--;
    return length;
}

EXPORT int vdprintf(int fd, const char *restrict format, va_list arguments) {
    return controlled() ? print_to(fd, format, arguments, SITE) : REAL(vdprintf)(fd, format, arguments);
}

EXPORT int __vdprintf_chk(int fd, int flag, const char *restrict format, va_list arguments) {
    return controlled() ? print_to(fd, format, arguments, SITE)
                        : REAL(__vdprintf_chk)(fd, flag, format, arguments);
}

#define PRINTS(call) \
    va_list arguments; \
    va_start(arguments, format); \
    int length = controlled() ? print_to(fd, format, arguments, SITE) : call; \
    va_end(arguments); \
    return length

EXPORT int dprintf(int fd, const char *restrict format, ...) { PRINTS(REAL(vdprintf)(fd, format, arguments)); }

EXPORT int __dprintf_chk(int fd, int flag, const char *restrict format, ...) {
    PRINTS(REAL(__vdprintf_chk)(fd, flag, format, arguments));
}

/* -- counters of events ---------------------------------------------------------------------------- */

EXPORT int eventfd_read(int fd, eventfd_t *value) {
    CONTROLLED(eventfd_read, fd, value);
    return read_from(fd, value, sizeof *value, SITE) == sizeof *value ? 0 : -1;
}

EXPORT int eventfd_write(int fd, eventfd_t value) {
    CONTROLLED(eventfd_write, fd, value);
    return write_to(fd, &value, sizeof value, SITE) == sizeof value ? 0 : -1;
}

/* -- what headers call where the size of the buffer is known ------------------------------------- */

EXPORT ssize_t __read_chk(int fd, void *buffer, size_t count, size_t size) {
    if (!controlled() || count > size) return REAL(__read_chk)(fd, buffer, count, size);
    GUARD;
    return read_from(fd, buffer, count, SITE);
}

EXPORT ssize_t __recv_chk(int fd, void *buffer, size_t length, size_t size, int flags) {
    if (!controlled() || length > size) return REAL(__recv_chk)(fd, buffer, length, size, flags);
    GUARD;
    return receive(fd, buffer, length, flags, NULL, NULL, SITE);
}

EXPORT ssize_t __recvfrom_chk(int fd, void *buffer, size_t length, size_t size, int flags,
                              struct sockaddr *address, socklen_t *address_size) {
    if (!controlled() || length > size)
        return REAL(__recvfrom_chk)(fd, buffer, length, size, flags, address, address_size);
    GUARD;
    return receive(fd, buffer, length, flags, address, address_size, SITE);
}

/* -- from one descriptor to another ------------------------------------------------------------------ */

static bool may_begin_to_move(enum kind kind, int *fd, bool moves_position, bool waits, uint64_t site) {
    file_operation(moves_position ? SET : INSPECT, *fd, site);
    if (!descriptor_may_block(*fd)) return true;
    return descriptor_operation(kind, fd, !waits ? 0 : kind == GET ? POLLIN : POLLOUT, site);
}

/* What the target has got; where that is a file, the other end has room for more. */
static ssize_t moved(ssize_t size, int to, uint64_t site) {
    return descriptor_may_block(to) ? descriptor_gave(size, site) : descriptor_took(size, site);
}

EXPORT ssize_t splice(int from, off64_t *at, int to, off64_t *at_to, size_t count, unsigned flags) {
    CONTROLLED(splice, from, at, to, at_to, count, flags);
    bool waits = !(flags & SPLICE_F_NONBLOCK);
    if (!may_begin_to_move(GET, &from, !at, waits, SITE) || !may_begin_to_move(PUT, &to, true, waits, SITE))
        return -1;
    /* As much as a pipe that is ready takes without blocking. */
    size_t piece = count < PIPE_BUF ? count : PIPE_BUF;
    return moved(number_used(from, number_used(to, REAL(splice)(from, at, to, at_to, piece, flags))), to, SITE);
}

EXPORT ssize_t tee(int from, int to, size_t count, unsigned flags) {
    CONTROLLED(tee, from, to, count, flags);
    bool waits = !(flags & SPLICE_F_NONBLOCK);
    if (!may_begin_to_move(GET, &from, false, waits, SITE) || !may_begin_to_move(PUT, &to, true, waits, SITE))
        return -1;
    size_t piece = count < PIPE_BUF ? count : PIPE_BUF;
    return moved(number_used(from, number_used(to, REAL(tee)(from, to, piece, flags))), to, SITE);
}

/* -- what is not modelled ------------------------------------------------------------------------------ */

#define NOT_SEEN(what, type, name, parameters, ...) \
    EXPORT type name parameters { \
        if (controlled() && !busy) segment->not_modelled |= what; \
        return REAL(name)(__VA_ARGS__); \
    }

/* Whether the C library tells of the end of what was asked for by a thread of its own, which may send a signal. */
static bool by_own_thread(const struct sigevent *event, bool sends_signals) {
    if (!event || leads_nowhere(event)) return false;
    return event->sigev_notify == SIGEV_THREAD || (sends_signals && event->sigev_notify == SIGEV_SIGNAL);
}

#define TOLD_OF(what, event, sends_signals, name, parameters, ...) \
    EXPORT int name parameters { \
        if (controlled() && !busy) \
            segment->not_modelled |= what | (by_own_thread(event, sends_signals) ? OWN_THREADS : 0); \
        return REAL(name)(__VA_ARGS__); \
    }

#define OF_REQUEST(name, type) \
    TOLD_OF(ASYNCHRONOUS_IO, &request->aio_sigevent, true, name, (type *request), request)
#define OF_SYNCHRONISATION(name, type) \
    TOLD_OF(ASYNCHRONOUS_IO, &request->aio_sigevent, true, name, (int operation, type *request), \
            operation, request)
#define OF_REQUESTS(name, type) \
    TOLD_OF(ASYNCHRONOUS_IO, event, true, name, \
            (int mode, type *const requests[], int count, struct sigevent *event), mode, requests, count, event)

OF_REQUEST(aio_read, struct aiocb)
OF_REQUEST(aio_read64, struct aiocb64)
OF_REQUEST(aio_write, struct aiocb)
OF_REQUEST(aio_write64, struct aiocb64)
OF_SYNCHRONISATION(aio_fsync, struct aiocb)
OF_SYNCHRONISATION(aio_fsync64, struct aiocb64)
OF_REQUESTS(lio_listio, struct aiocb)
OF_REQUESTS(lio_listio64, struct aiocb64)
TOLD_OF(ASYNCHRONOUS_NAMES, event, true, getaddrinfo_a,
        (int mode, struct gaicb *requests[], int count, struct sigevent *event), mode, requests, count, event)
/* Signals come from the kernel, at once. */
TOLD_OF(MESSAGE_NOTIFICATION, event, false, mq_notify, (mqd_t queue, const struct sigevent *event), queue, event)
NOT_SEEN(OTHER_MEMORY, ssize_t, process_vm_readv,
         (pid_t pid, const struct iovec *own, unsigned long own_count, const struct iovec *other,
          unsigned long other_count, unsigned long flags), pid, own, own_count, other, other_count, flags)
NOT_SEEN(OTHER_MEMORY, ssize_t, process_vm_writev,
         (pid_t pid, const struct iovec *own, unsigned long own_count, const struct iovec *other,
          unsigned long other_count, unsigned long flags), pid, own, own_count, other, other_count, flags)
NOT_SEEN(PAGES_OF_PIPES, ssize_t, vmsplice, (int fd, const struct iovec *parts, size_t count, unsigned flags), fd,
         parts, count, flags)
