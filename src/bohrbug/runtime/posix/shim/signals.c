#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "real.h"
#include "schedule.h"

static void on_nudge(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    if (!controlled() || busy || segment->running != index_of(current)) return;
    int error = errno;
    GUARD;
    uint64_t site = 0;
#if defined(__x86_64__)
    site = (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    site = (uint64_t)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
#endif
    segment->nudges++;
    segment->nudge_steps++;
    perform(YIELD, current_resource(), site);
    errno = error;
}

void signals_begin(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_nudge;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
    REAL(sigaction)(NUDGE, &action, NULL);
}

static void note_handler(int number, void *handler) {
    (void)number;
    if (segment && handler != (void *)SIG_DFL && handler != (void *)SIG_IGN)
        segment->signals_matter = 1;
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *before) {
    if (segment && number == NUDGE) {
        errno = EINVAL;
        return -1;
    }
    if (action) note_handler(number, (void *)(uintptr_t)action->sa_handler);
    return REAL(sigaction)(number, action, before);
}

EXPORT sighandler_t signal(int number, sighandler_t handler) {
    note_handler(number, (void *)(uintptr_t)handler);
    return REAL(signal)(number, handler);
}

static const sigset_t *without_nudge(const sigset_t *set, sigset_t *copy, int how) {
    if (!segment || !set || how == SIG_UNBLOCK) return set;
    *copy = *set;
    sigdelset(copy, NUDGE);
    return copy;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
    sigset_t copy;
    return REAL(pthread_sigmask)(how, without_nudge(set, &copy, how), before);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *before) {
    sigset_t copy;
    return REAL(sigprocmask)(how, without_nudge(set, &copy, how), before);
}
