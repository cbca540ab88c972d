/* Sockets that are called like files. */
#ifndef BOHRBUG_SOCKET_NAMES_H
#define BOHRBUG_SOCKET_NAMES_H

#include <stdint.h>
#include <sys/socket.h>

/* The current task is about to give a socket this address. */
void socket_name_given(const struct sockaddr *address, socklen_t size, uint64_t site);
/* Its next operation, on a socket, is with the one that has this address: it depends on who gives that name, and on
 * who takes it away. */
void socket_name_used(const struct sockaddr *address, socklen_t size, uint64_t site);

#endif
