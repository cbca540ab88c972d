/* Descriptors that a task may have to wait for: pipes, sockets and their like. */
#ifndef BOHRBUG_DESCRIPTORS_H
#define BOHRBUG_DESCRIPTORS_H

#include <poll.h>
#include <stdbool.h>

#include "outsiders.h"
#include "schedule.h"

/* Whether a task that waits for descriptors can go on; another process is asked if need be. */
bool descriptors_ready(struct task *task);
/* The same for a task of this process, and on record. */
void descriptors_look(struct task *task);
/* The most that anybody outside has to do with what tasks wait for. */
enum outsider descriptors_outsider(void);

bool descriptor_is_socket(int fd);
/* The resource that stands for a FIFO, whoever has it open. */
uint32_t descriptor_fifo(int folder, const char *path, uint64_t site);
/* The resource that stands for all sockets. */
uint32_t descriptor_of_sockets(uint64_t site);
/* Whether operations on a descriptor may block. */
bool descriptor_may_block(int fd);
/* The current task is about to operate on a descriptor, and waits until that would not block; without
 * events it never does.  False, with errno, if a signal came that ends the call, or it took too long.  If another task has closed the
 * descriptor meanwhile, it is another number from then on, which number_used closes. */
bool descriptor_operation(enum kind kind, int *fd, short events, uint64_t site);
/* The same for a stream, which goes on waiting whatever interrupts it. */
void descriptor_stream(enum kind kind, int fd, short events, uint64_t site);
/* The same for several at once; with a deadline, TIMED_OUT is a result. */
enum woken descriptors_wait(struct pollfd *descriptors, nfds_t count, uint64_t deadline,
                            uint64_t site);
/* Looks whether any is ready, and does not wait. */
void descriptors_inspect(uint64_t site);
/* Whether a resource stands for descriptors of which nobody can tell which. */
bool descriptor_is_any(const struct resource *resource);
/* A descriptor is about to be closed, or replaced by another one: who is blocked on it stays so, as the kernel keeps what
 * it stands for. */
void descriptor_outlived(int fd);
/* A descriptor is about to be closed or replaced, which others may see. */
void descriptor_change(int fd, uint64_t site);
/* The current task is about to set something about one. */
void descriptor_setting(int fd, uint64_t site);
/* The current task is about to ask something about one that others may set or do. */
void descriptor_asked(int fd, uint64_t site);
/* It is about to set whether calls on one wait, or how long: calls of others may come before or after. */
void descriptor_sets_mode(void);
/* Behind each of these: the call that the current task has operated for has given this, which is returned.  Somebody who
 * has waited may go on before the task does. */
ssize_t descriptor_gave(ssize_t result, uint64_t site);
/* The same, where only who waits for room may: for most programs nobody ever does, and there is no point. */
ssize_t descriptor_took(ssize_t result, uint64_t site);
/* Somebody waits for room, or was refused what there is none for. */
void descriptor_lacks_room(void);

#endif
