/* How the kernel is asked for the debug registers: as events of perf, each of which sends SIGTRAP to the
 * thread that it is about. */
#include "debug_registers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "accesses.h"
#include "real.h"

/* Descriptors from here on are hardly those that the program expects to get. */
#define FIRST_DESCRIPTOR 850
/* The kernel's names, which the C library does not have. */
#define BY_PERF 6
#define LATE 1u
#define MOST_HANDLERS 2

#if defined(__x86_64__)

static struct {
    uint32_t first;
    on_stop handler;
} handlers[MOST_HANDLERS];
static uint32_t handler_count;

bool debug_registers_are_set(void) { return handler_count > 0; }

/* By way of the kernel, which is not stopped. */
uint64_t value_at(uint64_t address, uint32_t size) {
    uint64_t value = 0;
    struct iovec to = {&value, size}, from = {(void *)(uintptr_t)address, size};
    syscall(SYS_process_vm_readv, syscall(SYS_getpid), &to, 1, &from, 1, 0);
    return value;
}

/* As the kernel has it (siginfo.h, _perf). */
struct told {
    uint8_t before[24];
    uint64_t what;
    uint32_t type, flags;
};

static void on_trap(int number, siginfo_t *info, void *context) {
    const struct told *told = (const struct told *)(const void *)info;
    if (info->si_code != BY_PERF) {
        /* Not ours: as if there had been no handler. */
        REAL(signal)(number, SIG_DFL);
        REAL(raise)(number);
        return;
    }
    if (told->flags & LATE) return;
    int before = errno;
    const ucontext_t *interrupted = context;
    const greg_t *registers = interrupted->uc_mcontext.gregs;
    struct stopped stopped = {(uint64_t)registers[REG_RIP], (uint64_t)registers[REG_RSP],
                              interrupted};
    for (uint32_t i = handler_count; i-- > 0;) {
        if (told->what < handlers[i].first) continue;
        handlers[i].handler((uint32_t)told->what - handlers[i].first, &stopped);
        break;
    }
    errno = before;
}

void debug_registers_take(uint32_t first, on_stop handler) {
    if (!handler_count) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = on_trap;
        /* A handler that waits for its turn must not keep the program's handlers from theirs. */
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        REAL(sigaction)(SIGTRAP, &action, NULL);
    }
    handlers[handler_count].first = first;
    handlers[handler_count++].handler = handler;
}

static void fill(struct perf_event_attr *attributes, const struct setting *setting) {
    memset(attributes, 0, sizeof *attributes);
    attributes->size = sizeof *attributes;
    attributes->type = PERF_TYPE_BREAKPOINT;
    attributes->bp_type = setting->type;
    attributes->bp_addr = setting->address;
    attributes->bp_len = setting->size;
    attributes->sample_period = 1;
    attributes->exclude_kernel = attributes->exclude_hv = 1;
    /* Threads have it, too; what is started by exec has not. */
    attributes->inherit = attributes->inherit_thread = attributes->remove_on_exec = 1;
    attributes->sigtrap = 1;
    attributes->sig_data = setting->what;
    attributes->disabled = setting->off;
}

int debug_register_open(const struct setting *setting) {
    struct perf_event_attr attributes;
    fill(&attributes, setting);
    int before = errno;
    int low = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (low < 0) {
        ACCESSES->watch_error = (uint32_t)errno;
        errno = before;
        return -1;
    }
    int high = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    if (high >= 0) syscall(SYS_close, low);
    errno = before;
    return high >= 0 ? high : low;
}

void debug_register_change(int descriptor, const struct setting *setting) {
    struct perf_event_attr attributes;
    fill(&attributes, setting);
    ioctl(descriptor, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attributes);
}

void debug_register_off(int descriptor) { ioctl(descriptor, PERF_EVENT_IOC_DISABLE, 0); }

#else

bool debug_registers_are_set(void) { return false; }

#endif
