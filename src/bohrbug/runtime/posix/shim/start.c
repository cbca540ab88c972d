/* The beginning: the process finds the segment and takes part. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "accesses.h"
#include "affinity.h"
#include "ending.h"
#include "environment.h"
#include "forkable.h"
#include "live.h"
#include "policy.h"
#include "process.h"
#include "real.h"
#include "rights.h"
#include "server.h"
#include "signals.h"
#include "stack.h"
#include "start.h"
#include "task.h"
#include "thread.h"
#include "trap.h"

struct header *segment;
struct places places;

static int is_of_this_version(const struct header *header) {
    return header->magic == SEGMENT_MAGIC && header->version == SEGMENT_VERSION &&
           header->header_size == sizeof(struct header) &&
           header->task_size == sizeof(struct task) &&
           header->resource_size == sizeof(struct resource) &&
           header->process_size == sizeof(struct process) &&
           header->module_size == sizeof(struct module) &&
           header->step_size == sizeof(struct step);
}

void segment_enter(struct header *room) {
    segment = room;
    places = (struct places){
        .tasks = TABLE(struct task, tasks),
        .resources = TABLE(struct resource, resources),
        .steps = TABLE(struct step, steps),
        .pool = TABLE(uint16_t, pool),
    };
}

int segment_open(void) {
    const char *path = variable("BOHRBUG_SEGMENT");
    if (!path || !*path) return 0;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return 0;
    struct stat status;
    void *memory = MAP_FAILED;
    if (fstat(fd, &status) == 0 && (size_t)status.st_size >= sizeof(struct header))
        memory = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (memory == MAP_FAILED) return 0;
    if (!is_of_this_version(memory)) {
        static const char words[] =
            "bohrbug: the shim and the Python part are of different versions; install again\n";
        syscall(SYS_write, 2, words, sizeof words - 1);
        munmap(memory, (size_t)status.st_size);
        return 0;
    }
    segment_enter(memory);
    rights_opened(path);
    return 1;
}

void begin(void) {
    GUARD;
    policy_begin();
    live_begin();
    if (!process_begin()) {
        /* Started in a way that nobody saw, or beside live rounds. */
        segment = NULL;
        live = NULL;
        return;
    }
    modules_record();
    accesses_begin();
    segment->started = 1;
}

__attribute__((constructor(101))) static void start(void) {
    load_real_functions();
    if (!segment_open()) return;
    end_with_starter();
    bool serves = server_is_wanted();
    if (serves) note_inherited_descriptors();
    stack_prepare();
    threads_begin();
    forks_begin();
    affinity_begin();
    signals_begin();
    crash_handlers_install();
    traps_install();
    if (!serves) begin();
}

__attribute__((destructor(101))) static void end(void) {
    if (segment) process_leave();
}
