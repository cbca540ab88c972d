#include "outsiders.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include "live.h"
#include "reading.h"

/* One end of a connection; IPv4 as IPv6 has it. */
struct end {
    struct in6_addr address;
    uint16_t port;
};

static bool convert(const struct sockaddr_storage *from, struct end *to) {
    if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;
        to->address = six->sin6_addr;
        to->port = ntohs(six->sin6_port);
        return true;
    }
    const struct sockaddr_in *four = (const struct sockaddr_in *)from;
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    memcpy(to->address.s6_addr, mapped, sizeof mapped);
    memcpy(to->address.s6_addr + sizeof mapped, &four->sin_addr, sizeof four->sin_addr);
    to->port = ntohs(four->sin_port);
    return from->ss_family == AF_INET;
}

static bool own_end(int fd, struct end *end) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    return getsockname(fd, (struct sockaddr *)&address, &size) == 0 && convert(&address, end);
}

static bool other_end(int fd, struct end *end) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    return getpeername(fd, (struct sockaddr *)&address, &size) == 0 && convert(&address, end);
}

static int option(int fd, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

static void note(uint16_t port) { segment->ports[port / 64] |= (uint64_t)1 << port % 64; }

void port_is_ours(int fd) {
    int error = errno;
    struct end own;
    if (own_end(fd, &own)) note(own.port);
    errno = error;
}

static bool is_on_this_machine(int fd, const struct in6_addr *address) {
    struct end own;
    if (IN6_IS_ADDR_LOOPBACK(address)) return true;
    if (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127) return true;
    return own_end(fd, &own) && memcmp(&own.address, address, sizeof *address) == 0;
}

static bool is_set_timer(int fd) {
    struct itimerspec left;
    if (timerfd_gettime(fd, &left) < 0) return false;
    return left.it_value.tv_sec || left.it_value.tv_nsec;
}

/* In a test both ends of a pipe are the test's own; a program that runs as ever may be part of something larger. */
static enum outsider find_at_pipe(int fd) {
    struct stat status;
    if (!live || fstat(fd, &status) < 0) return NOBODY;
    return S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode) || S_ISSOCK(status.st_mode) ? MAY_COME
                                                                                          : NOBODY;
}

static enum outsider find(int fd) {
    int domain = option(fd, SO_DOMAIN);
    if (domain < 0) return is_set_timer(fd) ? TIMER : find_at_pipe(fd);
    if (domain == AF_UNIX) return find_at_pipe(fd);
    if (domain != AF_INET && domain != AF_INET6) return CONNECTED;
    if (option(fd, SO_ACCEPTCONN) > 0) {
        port_is_ours(fd);
        return MAY_COME;
    }
    struct end other;
    if (!other_end(fd, &other)) return option(fd, SO_TYPE) == SOCK_STREAM ? CONNECTED : MAY_COME;
    bool ours = segment->ports[other.port / 64] >> other.port % 64 & 1;
    return ours && is_on_this_machine(fd, &other.address) ? ON_THE_WAY : CONNECTED;
}

enum outsider outsider_of(int fd) {
    int error = errno;
    enum outsider found = find(fd);
    errno = error;
    return found;
}

/* What an epoll watches, as the kernel tells it.  Nothing may be allocated: the task may wait for a lock
 * of the allocator. */
enum outsider outsider_behind(int fd) {
    enum outsider most = outsider_of(fd);
    if (option(fd, SO_DOMAIN) >= 0) return most;
    char path[48], text[4096];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    read_start(path, text, sizeof text);
    for (const char *at = text; (at = strstr(at, "tfd:")); at++) {
        enum outsider outsider = outsider_of(atoi(at + 4));
        if (outsider > most) most = outsider;
    }
    return most;
}
