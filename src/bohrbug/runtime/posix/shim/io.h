/* What reading and writing are, for functions that do so in a way of their own. */
#ifndef BOHRBUG_IO_H
#define BOHRBUG_IO_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

ssize_t read_from(int fd, void *buffer, size_t count, uint64_t site);
ssize_t write_to(int fd, const void *buffer, size_t count, uint64_t site);
ssize_t receive(int fd, void *buffer, size_t length, int flags, struct sockaddr *address, socklen_t *size,
                uint64_t site);

#endif
