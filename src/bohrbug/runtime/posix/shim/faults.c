#include "faults.h"

#include <errno.h>
#include <sys/socket.h>

#include "descriptors.h"
#include "real.h"
#include "schedule.h"

#define ERROR(name, NAME, error) error,
static const int errors[] = {FAULTS(ERROR)};
#undef ERROR

bool fails(enum fault fault, uint64_t site) {
    if (!(segment->faults >> fault & 1) || !segment->faults_left) return false;
    /* For the starter, the place of the resource is the number of the fault. */
    struct resource *resource = resource_named(FAULT_SPACE, fault, FAULT, site);
    if (!choose_value(2, resource_index(resource), site)) return false;
    segment->faults_left--;
    errno = errors[fault];
    return true;
}

bool connection_fails(enum fault fault, int fd, uint64_t site) {
    if (!(segment->faults >> fault & 1) || !descriptor_is_socket(fd) || !fails(fault, site))
        return false;
    int error = errno;
    REAL(shutdown)(fd, SHUT_RDWR);
    segment->fd_changes++;
    errno = error;
    return true;
}
