/* What depends on which thread of the kernel makes a call, so that it can't be done on fibers.
 *
 * To add a function: its name in functions.h, and a line here. */
#include <stdarg.h>
#include <sys/prctl.h>

#include "fiber.h"
#include "live.h"
#include "real.h"
#include "rights.h"
#include "task.h"

/* As long as there is one task, it may be the carrier. */
static bool matters(void) {
    return controlled() && !busy && !(live && segment->alive_count == 1);
}

static void note(const char *function) {
    if (matters()) needs_kernel_threads(function);
}

static void note_lightly(const char *function) {
    if (matters()) prefers_kernel_threads(function);
}

#define DEPENDS(type, note_it, name, parameters, ...) \
    EXPORT type name parameters { \
        note_it(#name); \
        return REAL(name)(__VA_ARGS__); \
    }

#define OF_OWN_THREAD(type, name, parameters, ...) DEPENDS(type, note, name, parameters, __VA_ARGS__)
/* ... of which a run with live rounds can do without. */
#define SAYS_LITTLE(type, name, parameters, ...) \
    DEPENDS(type, note_lightly, name, parameters, __VA_ARGS__)

/* Names */
SAYS_LITTLE(int, pthread_getname_np, (pthread_t thread, char *name, size_t size), thread, name, size)

EXPORT pid_t gettid(void) { return controlled() ? current->thread : REAL(gettid)(); }

EXPORT int prctl(int option, ...) {
    unsigned long a[4];
    va_list arguments;
    va_start(arguments, option);
    for (int i = 0; i < 4; i++) a[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    /* For debuggers only, as long as nobody asks for it. */
    if (option != PR_SET_NAME) note_lightly("prctl");
    return REAL(prctl)(option, a[0], a[1], a[2], a[3]);
}

/* Signals */
SAYS_LITTLE(int, sigaltstack, (const stack_t *stack, stack_t *before), stack, before)

/* Priorities */
SAYS_LITTLE(int, pthread_setschedparam, (pthread_t thread, int policy, const struct sched_param *wanted),
              thread, policy, wanted)
SAYS_LITTLE(int, pthread_getschedparam, (pthread_t thread, int *policy, struct sched_param *found),
              thread, policy, found)
SAYS_LITTLE(int, pthread_setschedprio, (pthread_t thread, int priority), thread, priority)
OF_OWN_THREAD(int, pthread_mutexattr_setprotocol, (pthread_mutexattr_t *attributes, int protocol),
              attributes, protocol)
SAYS_LITTLE(int, sched_setscheduler, (pid_t pid, int policy, const struct sched_param *wanted), pid,
              policy, wanted)
SAYS_LITTLE(int, sched_setparam, (pid_t pid, const struct sched_param *wanted), pid, wanted)
SAYS_LITTLE(int, setpriority, (__priority_which_t which, id_t who, int priority), which, who, priority)
SAYS_LITTLE(int, nice, (int more), more)

/* Use of the processor */
SAYS_LITTLE(int, getrusage, (__rusage_who_t who, struct rusage *usage), who, usage)
SAYS_LITTLE(int, pthread_getcpuclockid, (pthread_t thread, clockid_t *clock), thread, clock)

/* Rights, which the C library changes in one thread after the other by a signal */
#define OF_RIGHTS(name, parameters, ...) \
    EXPORT int name parameters { \
        note(#name); \
        rights_change(); \
        return REAL(name)(__VA_ARGS__); \
    }

OF_RIGHTS(setuid, (uid_t user), user)
OF_RIGHTS(setgid, (gid_t group), group)
OF_RIGHTS(seteuid, (uid_t user), user)
OF_RIGHTS(setegid, (gid_t group), group)
OF_RIGHTS(setreuid, (uid_t real, uid_t effective), real, effective)
OF_RIGHTS(setregid, (gid_t real, gid_t effective), real, effective)
OF_RIGHTS(setresuid, (uid_t real, uid_t effective, uid_t saved), real, effective, saved)
OF_RIGHTS(setresgid, (gid_t real, gid_t effective, gid_t saved), real, effective, saved)
OF_OWN_THREAD(int, setgroups, (size_t count, const gid_t *groups), count, groups)

/* What a thread does not share with the others */
OF_OWN_THREAD(int, unshare, (int what), what)
OF_OWN_THREAD(int, setns, (int fd, int kind), fd, kind)
