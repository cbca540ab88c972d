#include "socket_names.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>

#include "addresses.h"
#include "files.h"
#include "task.h"

/* Room for any name, and what ends it. */
#define ROOM (sizeof(struct sockaddr_un) + 1)

/* The name of a file; NULL where an address has none. */
static const char *file_of_address(const struct sockaddr *address, socklen_t size, char path[ROOM]) {
    size_t before = offsetof(struct sockaddr_un, sun_path);
    if (leads_nowhere(address) || size <= before || size > sizeof(struct sockaddr_un)) return NULL;
    if (address->sa_family != AF_UNIX) return NULL;
    memcpy(path, (const char *)address + before, size - before);
    path[size - before] = '\0';
    return *path ? path : NULL;
}

void socket_name_given(const struct sockaddr *address, socklen_t size, uint64_t site) {
    char room[ROOM];
    const char *path = file_of_address(address, size, room);
    if (path) file_name_operation(SET, AT_FDCWD, path, site);
}

void socket_name_used(const struct sockaddr *address, socklen_t size, uint64_t site) {
    char room[ROOM];
    const char *path = file_of_address(address, size, room);
    if (path) file_name_beside(AT_FDCWD, path, site);
}
