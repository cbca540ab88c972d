/* A debug register of the processor stops a thread just after it has accessed memory.
 *
 * What was done can't be held back any more.  So a hit is two steps: the access itself, which nobody
 * else can come before, and a scheduling point behind it.  While a task waits at that point it has done
 * nothing since its access; if another one accesses the same memory then, nothing can have ordered
 * the two, whatever synchronisation there is that nobody sees.  Only that counts as a race.
 */
#include "watchpoints.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "accesses.h"
#include "real.h"
#include "schedule.h"

/* Descriptors from here on are hardly those that the program expects to get. */
#define FIRST_DESCRIPTOR 850
/* Hits of a watchpoint in a process, after which it is given up: each takes about as long as 10,000
 * accesses that are not watched. */
#define MOST_HITS 20000u
/* The kernel's names, which the C library does not have. */
#define BY_PERF 6
#define LATE 1u

static struct watched {
    uint64_t address;
    uint32_t size, hits;
    int all, writes;           /* descriptors of events; `writes` is -1 where there is no register */
    uint64_t writes_seen, value;
} watched[MOST_WATCHPOINTS];
static uint32_t watched_count;

bool watchpoints_are_set(void) { return watched_count > 0; }

#if defined(__x86_64__)

/* -- values ---------------------------------------------------------------------------- */

/* By way of the kernel: an ordinary access would be the next hit. */
static uint64_t value_of(const struct watched *one) {
    uint64_t value = 0;
    struct iovec to = {&value, one->size};
    struct iovec from = {(void *)(uintptr_t)one->address, one->size};
    syscall(SYS_process_vm_readv, syscall(SYS_getpid), &to, 1, &from, 1, 0);
    return value;
}

static uint64_t writes_of(const struct watched *one) {
    uint64_t count = 0;
    if (one->writes < 0 || syscall(SYS_read, one->writes, &count, sizeof count) != sizeof count)
        return 0;
    return count;
}

/* -- where a task may be stopped ----------------------------------------------------------- */

static bool begins_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

static const struct module *module_at(uint64_t address) {
    for (uint32_t i = 0; i < segment->modules; i++)
        if (MODULES[i].process == this_process && address >= MODULES[i].start &&
            address < MODULES[i].end)
            return &MODULES[i];
    return NULL;
}

/* Whether the code may hold locks that nobody sees: the C library, the loader, and what is ours. */
static bool may_hold_locks(const struct module *module) {
    if (module->is_shim) return true;
    const char *slash = strrchr(module->path, '/');
    const char *name = slash ? slash + 1 : module->path;
    return begins_with(name, "libc.so") || begins_with(name, "ld-linux") ||
           begins_with(name, "libgcc_s.so");
}

static bool follows_a_call(uint64_t address) {
    const uint8_t *code = (const uint8_t *)(uintptr_t)address;
    return code[-5] == 0xE8 || (code[-6] == 0xFF && code[-5] == 0x15);
}

/* The place of the program that an access belongs to; 0 if it is none where a task may be stopped.
 *
 * Functions such as memcpy have no frame: whoever called them from the program holds no such lock. */
static uint64_t place_to_stop(uint64_t place, uint64_t stack) {
    const struct module *module = module_at(place);
    if (!module || !may_hold_locks(module)) return place;
    uint64_t caller = *(const uint64_t *)(uintptr_t)stack;
    const struct module *calling = module_at(caller - 1);
    bool called = calling && caller - 6 >= calling->start && !may_hold_locks(calling) &&
                  follows_a_call(caller);
    return called ? caller : 0;
}

/* -- hits ------------------------------------------------------------------------------------- */

/* The access, by task, after which that waits for its turn; with size 0 there is none. */
static struct held {
    uint64_t address, place;
    uint32_t size, epoch;
    enum kind kind;
} all_held[MOST_TASKS];

static void look_for_races(const struct done_access *done) {
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct held *held = &all_held[segment->alive[i]];
        bool overlap = held->address < done->address + done->size &&
                       done->address < held->address + held->size;
        if (!overlap || (held->kind == READ && done->kind == READ)) continue;
        uint64_t first = held->address > done->address ? held->address : done->address;
        hooks->race(held->epoch, held->place, held->kind, done->place, done->kind, first,
                    done->size);
    }
}

/* The access as a step of its own, and a point behind it. */
static void stop_after(const struct done_access *done) {
    uint32_t resource = variable_at((const void *)(uintptr_t)done->address, done->place);
    if (done->kind == WRITE) segment->changes++;
    perform_when(done->kind, resource, done->place,
                 (struct waiting){DONE, 0, NO_DEADLINE, false, false});
    if (done->kind == READ) fruitless(done->place);
    struct held *held = &all_held[index_of(current)];
    *held = (struct held){done->address, done->place, done->size, hooks->now->epoch, done->kind};
    perform(CONTINUE, resource, done->place);
    held->size = 0;
}

static bool is_tired(struct watched *one) {
    if (++one->hits < MOST_HITS) return false;
    if (one->hits == MOST_HITS) {
        ioctl(one->all, PERF_EVENT_IOC_DISABLE, 0);
        if (one->writes >= 0) ioctl(one->writes, PERF_EVENT_IOC_DISABLE, 0);
        ACCESSES->tired_watchpoints++;
    }
    return true;
}

static void hit(struct watched *one, uint64_t place, uint64_t stack) {
    uint64_t writes = writes_of(one), value = value_of(one);
    bool writes_it = one->writes >= 0 ? writes != one->writes_seen : value != one->value;
    struct done_access done = {one->address, place,     one->value, value,
                               writes_it ? WRITE : READ, one->size};
    one->writes_seen = writes;
    one->value = value;
    /* What the shim does with the memory, or a thread that is not controlled. */
    if (!controlled() || busy || *hooks->working || segment->running != index_of(current)) return;
    ACCESSES->hits++;
    if (is_tired(one) || segment->alive_count < 2 || !hooks->now->epoch) return;
    GUARD;
    uint64_t stop = place_to_stop(place, stack);
    if (stop) done.place = stop;
    look_for_races(&done);
    hooks->witness(&done);
    if (stop) stop_after(&done);
}

/* As the kernel has it (siginfo.h, _perf). */
struct told {
    uint8_t before[24];
    uint64_t data;
    uint32_t type, flags;
};

static void on_trap(int number, siginfo_t *info, void *context) {
    const struct told *told = (const struct told *)(const void *)info;
    if (info->si_code != BY_PERF || told->data >= watched_count) {
        /* Not ours: as if there had been no handler. */
        REAL(signal)(number, SIG_DFL);
        REAL(raise)(number);
        return;
    }
    if (told->flags & LATE) return;
    int before = errno;
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    hit(&watched[told->data], (uint64_t)registers[REG_RIP], (uint64_t)registers[REG_RSP]);
    errno = before;
}

/* -- the beginning -------------------------------------------------------------------------------- */

static int open_event(uint32_t number, uint32_t type) {
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_BREAKPOINT;
    attributes.bp_type = type;
    attributes.bp_addr = watched[number].address;
    attributes.bp_len = watched[number].size;
    attributes.sample_period = 1;
    attributes.exclude_kernel = attributes.exclude_hv = 1;
    /* Threads have it, too; what is started by exec has not. */
    attributes.inherit = attributes.inherit_thread = attributes.remove_on_exec = 1;
    attributes.sigtrap = 1;
    attributes.sig_data = number;
    int low = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (low < 0) {
        ACCESSES->watch_error = (uint32_t)errno;
        return -1;
    }
    int high = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    if (high < 0) return low;
    syscall(SYS_close, low);
    return high;
}

static void open_events(void) {
    int before = errno;
    for (uint32_t i = 0; i < watched_count; i++) {
        struct watched *one = &watched[i];
        one->all = open_event(i, HW_BREAKPOINT_RW);
        if (one->writes >= 0) one->writes = open_event(i, HW_BREAKPOINT_W);
        one->writes_seen = 0;
        one->value = value_of(one);
    }
    errno = before;
}

/* Where a watchpoint is in this process; 0 if its module is not here. */
static uint64_t address_of(const struct watchpoint *wanted) {
    if (!*wanted->path) return wanted->address;
    for (uint32_t i = 0; i < segment->modules; i++)
        if (MODULES[i].process == this_process &&
            strncmp(MODULES[i].path, wanted->path, sizeof wanted->path) == 0)
            return MODULES[i].base + wanted->address;
    return 0;
}

void watchpoints_begin(void) {
    const struct accesses *all = ACCESSES;
    if (!hooks) return;
    for (uint32_t i = 0; i < all->watchpoints && i < MOST_WATCHPOINTS; i++) {
        const struct watchpoint *wanted = &all->watchpoint[i];
        uint64_t address = address_of(wanted);
        if (!address) continue;
        watched[watched_count++] = (struct watched){
            .address = address,
            .size = wanted->size,
            .writes = wanted->tells_writes ? 0 : -1,
        };
    }
    if (!watched_count) return;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_trap;
    /* A handler that waits for its turn must not keep the program's handlers from theirs. */
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    REAL(sigaction)(SIGTRAP, &action, NULL);
    open_events();
}

void watchpoints_forked(void) {
    if (!watched_count) return;
    /* The kernel does not pass events on to other processes. */
    for (uint32_t i = 0; i < watched_count; i++) {
        syscall(SYS_close, watched[i].all);
        if (watched[i].writes >= 0) syscall(SYS_close, watched[i].writes);
    }
    memset(all_held, 0, sizeof all_held);
    open_events();
}

#else

/* Where the processor stops before the access, as others do, all this is different. */
void watchpoints_begin(void) {
    if (ACCESSES->watchpoints) ACCESSES->watch_error = ENOSYS;
}
void watchpoints_forked(void) {}

#endif
