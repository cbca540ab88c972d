/* DataCollider (Erickson, Musuvathi, Burckhardt and Olynyk, OSDI 2010), under a plan.
 *
 * A few instructions of the program have a breakpoint.  A task that comes to one is about to access
 * memory, and that is a scheduling point.  While it waits there a watchpoint guards the memory: whoever
 * touches it meets an access that nothing orders, as the waiting task does nothing else before.
 */
#include "sampled.h"

#include <linux/hw_breakpoint.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "debug_registers.h"
#include "schedule.h"
#include "stack.h"
#include "watchpoints.h"

#if defined(__x86_64__)

/* What handlers are told of: the guard, and behind it the places. */
#define GUARD_NUMBER MOST_WATCHPOINTS
/* Times that an instruction is reached in a process, after which it is let alone. */
#define MOST_VISITS 1000u
/* So far above the stack pointer nearly all frames of functions end. */
#define FRAMES 65536u
#define RED_ZONE 128u
/* Accesses of others that are remembered while a task is held. */
#define MOST_MET 4u

enum base { RIP = 16, NO_BASE = 17 };

static struct visited {
    const struct sampled_place *what;
    uint64_t address, end;
    uint32_t visits;
    int event;
} sampled[MOST_SAMPLED];
static uint32_t sampled_count;

/* The access that is guarded, and who met it. */
static struct guarded {
    bool is_set;
    uint64_t address, value;
    uint32_t size, met_count;
    enum kind kind;
    struct met {
        uint64_t place, address;
        uint32_t epoch;
        enum kind kind;
    } met[MOST_MET];
} guarded;
static int guard_event = -1;

/* -- addresses ------------------------------------------------------------------------------ */

static uint64_t value_of_register(uint32_t base, const struct visited *at, const greg_t *registers) {
    static const int in_context[] = {
        REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
        REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
    };
    if (base == NO_BASE) return 0;
    return base == RIP ? at->end : (uint64_t)registers[in_context[base]];
}

static uint64_t address_for(const struct visited *at, const greg_t *registers) {
    const struct sampled_place *what = at->what;
    return value_of_register(what->base, at, registers) +
           value_of_register(what->index, at, registers) * what->scale +
           (uint64_t)what->displacement;
}

/* As many of the first bytes as a register can watch. */
static uint32_t watchable(uint64_t address, uint32_t size) {
    uint32_t most = 8;
    while (most > size || address % most) most /= 2;
    return most;
}

static bool is_on_stack(uint64_t address, uint64_t stack) {
    return address >= stack - RED_ZONE && address < stack + FRAMES;
}

/* -- the guard --------------------------------------------------------------------------------- */

static struct setting setting_of_guard(void) {
    /* Two reads are no race. */
    uint32_t type = guarded.kind == READ ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
    return (struct setting){type, guarded.size, guarded.address, GUARD_NUMBER, !guarded.is_set};
}

static void change_guard(void) {
    struct setting setting = setting_of_guard();
    debug_register_change(guard_event, &setting);
}

static bool set_guard(uint64_t address, uint32_t size, enum kind kind) {
    if (guarded.is_set) return false;
    guarded = (struct guarded){.is_set = true, .address = address, .size = size, .kind = kind};
    guarded.value = value_at(address, size);
    change_guard();
    return true;
}

static void on_meeting(const struct stopped *stopped) {
    uint64_t value = value_at(guarded.address, guarded.size);
    bool writes_it = guarded.kind == READ || value != guarded.value;
    struct done_access done = {
        .address = guarded.address,
        .place = stopped->place,
        .before = guarded.value,
        .after = value,
        .has_after = writes_it,
        .kind = writes_it ? WRITE : READ,
        .size = guarded.size,
    };
    guarded.value = value;
    if (!guarded.is_set || !hit_counts() || !hooks->now->epoch) return;
    GUARD;
    uint64_t place = place_to_stop(stopped->place, stopped->stack);
    if (place) done.place = place;
    if (guarded.met_count < MOST_MET)
        guarded.met[guarded.met_count++] =
            (struct met){done.place, done.address, hooks->now->epoch, done.kind};
    access_was_done(&done, place != 0);
}

/* -- places -------------------------------------------------------------------------------------- */

/* The running task is held before its access, under a guard if that is free. */
static void hold(const struct visited *at, uint64_t address, uint32_t size) {
    enum kind kind = (enum kind)at->what->kind;
    uint32_t resource = variable_at((const void *)(uintptr_t)address, size, at->end);
    bool is_guarded = set_guard(address, size, kind);
    if (kind == WRITE) segment->changes++;
    stopped_before = (struct stopped_before){at->address, at->end};
    perform(kind, resource, at->end);
    if (kind == READ) fruitless(at->end);
    if (is_guarded) {
        guarded.is_set = false;
        change_guard();
        for (uint32_t i = 0; i < guarded.met_count; i++) {
            const struct met *met = &guarded.met[i];
            hooks->race(met->epoch, met->place, met->kind, at->end, kind, address, size);
        }
    }
    struct done_access about_to = {
        .address = address,
        .place = at->end,
        .before = value_at(address, size),
        .kind = kind,
        .size = size,
    };
    hooks->witness(&about_to);
    stopped_before = (struct stopped_before){0, 0};
}

static void on_visit(struct visited *at, const struct stopped *stopped) {
    if (!hit_counts() || ++at->visits > MOST_VISITS) return;
    if (at->visits == MOST_VISITS) debug_register_off(at->event);
    if (segment->alive_count < 2 || !hooks->now->epoch) return;
    uint64_t address = address_for(at, stopped->context->uc_mcontext.gregs);
    if (is_on_stack(address, stopped->stack)) return;
    GUARD;
    hold(at, address, watchable(address, at->what->size));
}

static void on_sampled(uint32_t number, const struct stopped *stopped) {
    if (number == 0) on_meeting(stopped);
    else on_visit(&sampled[number - 1], stopped);
}

/* -- the beginning -------------------------------------------------------------------------------- */

static void open_events(void) {
    guarded = (struct guarded){.address = (uint64_t)(uintptr_t)&guarded.value, .size = 8};
    struct setting setting = setting_of_guard();
    guard_event = debug_register_open(&setting);
    for (uint32_t i = 0; i < sampled_count; i++) {
        setting = (struct setting){HW_BREAKPOINT_X, sizeof(long), sampled[i].address,
                                   GUARD_NUMBER + 1 + i, false};
        sampled[i].event = debug_register_open(&setting);
    }
}

void sampled_begin(void) {
    const struct accesses *all = ACCESSES;
    if (!hooks) return;
    for (uint32_t i = 0; i < all->sampled && i < MOST_SAMPLED; i++) {
        const struct sampled_place *what = &all->sampled_place[i];
        uint64_t address = address_in(what->path, what->offset);
        if (!address) continue;
        uint64_t end = address + what->length;
        sampled[sampled_count++] = (struct visited){what, address, end, 0, -1};
    }
    if (!sampled_count) return;
    debug_registers_take(GUARD_NUMBER, on_sampled);
    open_events();
}

void sampled_forked(void) {
    if (!sampled_count) return;
    /* The kernel does not pass events on to other processes. */
    syscall(SYS_close, guard_event);
    for (uint32_t i = 0; i < sampled_count; i++) syscall(SYS_close, sampled[i].event);
    open_events();
}

#else

void sampled_begin(void) {}
void sampled_forked(void) {}

#endif
