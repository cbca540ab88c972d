/* A debug register of the processor stops a thread just after it has accessed memory.
 *
 * What was done can't be held back any more.  So a hit is two steps: the access itself, which nobody
 * else can come before, and a scheduling point behind it.  While a task waits at that point it has done
 * nothing since its access; if another one accesses the same memory then, nothing can have ordered
 * the two, whatever synchronisation there is that nobody sees.  Only that counts as a race.
 */
#include "watchpoints.h"

#include <linux/hw_breakpoint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "debug_registers.h"
#include "schedule.h"

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

uint64_t address_in(const char *path, uint64_t offset) {
    for (uint32_t i = 0; i < segment->modules; i++)
        if (MODULES[i].process == this_process &&
            strncmp(MODULES[i].path, path, MODULE_PATH - 1) == 0)
            return MODULES[i].base + offset;
    return 0;
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

/* Functions such as memcpy have no frame: whoever called them from the program holds no such lock. */
uint64_t place_to_stop(uint64_t place, uint64_t stack) {
    const struct module *module = module_at(place);
    if (!module || !may_hold_locks(module)) return place;
    uint64_t caller = *(const uint64_t *)(uintptr_t)stack;
    const struct module *calling = module_at(caller - 1);
    bool called = calling && caller - 6 >= calling->start && !may_hold_locks(calling) &&
                  follows_a_call(caller);
    return called ? caller : 0;
}

/* -- accesses that were done -------------------------------------------------------------------- */

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
    uint32_t resource = variable_at((const void *)(uintptr_t)done->address, done->size, done->place);
    if (done->kind == WRITE) segment->changes++;
    perform_when(done->kind, resource, done->place,
                 (struct waiting){DONE, 0, NO_DEADLINE, false, false});
    if (done->kind == READ) fruitless(done->place);
    struct held *held = &all_held[index_of(current)];
    *held = (struct held){done->address, done->place, done->size, hooks->now->epoch, done->kind};
    perform(CONTINUE, resource, done->place);
    held->size = 0;
}

void access_was_done(const struct done_access *done, bool stop) {
    look_for_races(done);
    hooks->witness(done);
    if (stop) stop_after(done);
}

bool hit_counts(void) {
    /* What the shim does with the memory, or a thread that is not controlled. */
    if (!controlled() || busy || *hooks->working || segment->running != index_of(current))
        return false;
    ACCESSES->hits++;
    return true;
}

#if defined(__x86_64__)

/* -- hits ------------------------------------------------------------------------------------- */

/* Hits of a watchpoint in a process, after which it is given up: each takes about as long as 10,000
 * accesses that are not watched. */
#define MOST_HITS 20000u

static struct watched {
    uint64_t address;
    uint32_t size, hits;
    int all, writes;           /* descriptors; `writes` is -1 where there is no register */
    uint64_t writes_seen, value;
} watched[MOST_WATCHPOINTS];
static uint32_t watched_count;

static uint64_t writes_of(const struct watched *one) {
    uint64_t count = 0;
    if (one->writes < 0 || syscall(SYS_read, one->writes, &count, sizeof count) != sizeof count)
        return 0;
    return count;
}

static bool is_tired(struct watched *one) {
    if (++one->hits < MOST_HITS) return false;
    if (one->hits == MOST_HITS) {
        debug_register_off(one->all);
        if (one->writes >= 0) debug_register_off(one->writes);
        ACCESSES->tired_watchpoints++;
    }
    return true;
}

static void on_hit(uint32_t number, const struct stopped *stopped) {
    struct watched *one = &watched[number];
    uint64_t writes = writes_of(one), value = value_at(one->address, one->size);
    bool writes_it = one->writes >= 0 ? writes != one->writes_seen : value != one->value;
    struct done_access done = {
        .address = one->address,
        .place = stopped->place,
        .before = one->value,
        .after = value,
        .has_after = writes_it,
        .kind = writes_it ? WRITE : READ,
        .size = one->size,
    };
    one->writes_seen = writes;
    one->value = value;
    if (!hit_counts() || is_tired(one) || segment->alive_count < 2 || !hooks->now->epoch) return;
    GUARD;
    uint64_t place = place_to_stop(stopped->place, stopped->stack);
    if (place) done.place = place;
    access_was_done(&done, place != 0);
}

/* -- the beginning -------------------------------------------------------------------------------- */

static void open_events(void) {
    for (uint32_t i = 0; i < watched_count; i++) {
        struct watched *one = &watched[i];
        struct setting setting = {HW_BREAKPOINT_RW, one->size, one->address, i, false};
        one->all = debug_register_open(&setting);
        setting.type = HW_BREAKPOINT_W;
        if (one->writes >= 0) one->writes = debug_register_open(&setting);
        one->writes_seen = 0;
        one->value = value_at(one->address, one->size);
    }
}

void watchpoints_begin(void) {
    const struct accesses *all = ACCESSES;
    if (!hooks) return;
    for (uint32_t i = 0; i < all->watchpoints && i < MOST_WATCHPOINTS; i++) {
        const struct watchpoint *wanted = &all->watchpoint[i];
        uint64_t address = wanted->address;
        if (*wanted->path) address = address_in(wanted->path, address);
        if (!address) continue;
        watched[watched_count++] = (struct watched){
            .address = address,
            .size = wanted->size,
            .writes = wanted->tells_writes ? 0 : -1,
        };
    }
    if (!watched_count) return;
    debug_registers_take(0, on_hit);
    open_events();
}

void watchpoints_forked(void) {
    memset(all_held, 0, sizeof all_held);
    /* The kernel does not pass events on to other processes. */
    for (uint32_t i = 0; i < watched_count; i++) {
        syscall(SYS_close, watched[i].all);
        if (watched[i].writes >= 0) syscall(SYS_close, watched[i].writes);
    }
    open_events();
}

#else

/* Where the processor stops before the access, as others do, all this is different. */
void watchpoints_begin(void) {}
void watchpoints_forked(void) {}

#endif
