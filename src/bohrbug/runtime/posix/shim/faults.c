#include "faults.h"

#include <errno.h>
#include <link.h>
#include <sys/socket.h>

#include "descriptors.h"
#include "real.h"
#include "schedule.h"

#define ERROR(name, NAME, error) error,
static const int errors[] = {FAULTS(ERROR)};
#undef ERROR

static bool is_chosen(enum fault fault, uint64_t site) {
    /* For the starter, the place of the resource is the number of the fault. */
    struct resource *resource = resource_named(FAULT_SPACE, fault, FAULT, site);
    return choose_value(2, resource_index(resource), site);
}

static bool may_fail(enum fault fault) {
    return segment->faults >> fault & 1 && segment->faults_left;
}

bool wakes_for_nothing(uint64_t site) {
    if (!segment->faults) return has_planned_value() && is_chosen(WAKE_FAULT, site);
    if (!may_fail(WAKE_FAULT) || !is_chosen(WAKE_FAULT, site)) return false;
    segment->faults_left--;
    return true;
}

bool fails(enum fault fault, uint64_t site) {
    if (!may_fail(fault) || !is_chosen(fault, site)) return false;
    segment->faults_left--;
    errno = errors[fault];
    return true;
}

/* Where the code of the program itself is, without its libraries. */
static struct {
    uint64_t start, end;
} program;

static int note_program(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    program.start = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        uint64_t start = info->dlpi_addr + part->p_vaddr;
        if (start < program.start) program.start = start;
        if (start + part->p_memsz > program.end) program.end = start + part->p_memsz;
    }
    /* It comes first. */
    return 1;
}

EXPORT bool bohrbug_allocation_fails(uint64_t site) {
    if (!segment || !(segment->faults >> MALLOC_FAULT & 1) || !controlled() || busy) return false;
    GUARD;
    if (!program.end) dl_iterate_phdr(note_program, NULL);
    return site >= program.start && site < program.end && fails(MALLOC_FAULT, site);
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
