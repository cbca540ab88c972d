#include "ending.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "debugging.h"
#include "fragment.h"
#include "real.h"
#include "stack.h"
#include "task.h"

static void write_down(enum ending ending, uint32_t task, const char *format, va_list arguments) {
    if (segment->ending != UNFINISHED) return;
    /* Else too many would have to be kept. */
    if (live) segment->with_stacks = 1;
    segment->ending = ending;
    segment->ending_task = task;
    segment->ending_resource = NONE;
    segment->ending_stack = NONE;
    vsnprintf(segment->message, MESSAGE_LENGTH, format, arguments);
    if (is_fragment) fragment_ends(ending, task);
}

/* Nobody of the execution goes on: the processes are killed, the own one last. */
static _Noreturn void end_all(void) {
    segment->finished = 1;
    modules_record_new();
    bohrbug_ends();
    int own = (int)syscall(SYS_getpid);
    /* What a run with live rounds has started goes its own way. */
    for (uint32_t i = 0; !live && i < segment->processes; i++) {
        const struct process *process = &PROCESSES[i];
        if (process->pid > 0 && process->pid != own && process->state == ALIVE)
            syscall(SYS_kill, process->pid, SIGKILL);
    }
    syscall(SYS_exit_group, 0);
    __builtin_unreachable();
}

void note_ending(enum ending ending, uint32_t task, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_down(ending, task, format, arguments);
    va_end(arguments);
}

void finish(enum ending ending, uint32_t task, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_down(ending, task, format, arguments);
    va_end(arguments);
    end_all();
}

static void note_let_pass(enum misuse_kind kind, uint64_t site) {
    struct let_pass *noted = &segment->let_pass[kind];
    if (!noted->count++) {
        noted->site = site;
        noted->task = index_of(current);
    }
}

void misuse(enum misuse_kind kind, uint32_t resource, uint64_t site, const char *format, ...) {
    if (lets_pass(kind)) {
        note_let_pass(kind, site);
        return;
    }
    segment->ending_misuse = kind;
    va_list arguments;
    va_start(arguments, format);
    write_down(MISUSE, index_of(current), format, arguments);
    va_end(arguments);
    segment->ending_resource = resource;
    segment->ending_site = site;
    segment->ending_stack = stack_record();
    end_all();
}

/* -- fatal signals ------------------------------------------------------------- */

/* A child that dies on purpose, as in the test of an assertion. */
static bool may_die_of(int number) {
    return this_process != 0 && segment->right_deaths >> number & 1;
}

static void on_crash(int number, siginfo_t *info, void *context) {
    inside++;
    if (segment && this_process != 0) segment->deaths |= 1u << number;
    if (segment && segment->ending == UNFINISHED && !may_die_of(number)) {
        const ucontext_t *state = context;
        segment->signal = (uint32_t)number;
        note_ending(CRASH, current ? index_of(current) : NONE, "%s", "");
        /* A signal that was sent has none, and of some faults the processor does not tell it. */
        segment->fault_address = info->si_code > 0 && info->si_code != SI_KERNEL
                                     ? (uint64_t)(uintptr_t)info->si_addr
                                     : UNKNOWN_ADDRESS;
#if defined(__x86_64__)
        segment->ending_site = (uint64_t)state->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
        segment->ending_site = (uint64_t)state->uc_mcontext.pc;
#else
        (void)state;
#endif
        segment->ending_stack = stack_record();
        modules_record_new();
    }
    /* SA_RESETHAND has put the default action back: the same fault, or this, is fatal now. */
    syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), number);
    inside--;
}

void crash_handlers_install(void) {
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER | SA_ONSTACK;
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
        struct sigaction before;
        REAL(sigaction)(fatal[i], NULL, &before);
        if (before.sa_handler == SIG_DFL) REAL(sigaction)(fatal[i], &action, NULL);
    }
}

/* -- how programs end themselves on purpose --------------------------------------- */

EXPORT void __assert_fail(const char *assertion, const char *file, unsigned line,
                          const char *function) {
    if (controlled() && !may_die_of(SIGABRT)) {
        note_ending(ASSERTION, index_of(current), "%s:%u: %s: Assertion `%s' failed", file, line,
                    function ? function : "?", assertion);
        segment->ending_site = SITE;
        segment->ending_stack = stack_record();
    }
    REAL(__assert_fail)(assertion, file, line, function);
    __builtin_unreachable();
}
