/* What programs call to start processes and to wait for them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include "environment.h"
#include "faults.h"
#include "fiber.h"
#include "live.h"
#include "process.h"
#include "reading.h"
#include "real.h"
#include "schedule.h"
#include "timers.h"

extern char **environ;

/* Stands for the children of a process, in operations that wait for any of them. */
static char any_child;

/* -- fork and exec -------------------------------------------------------------------------- */

EXPORT pid_t fork(void) {
    CONTROLLED(fork);
    return process_fork(SITE);
}

/* A fork without what pthread_atfork has asked for. */
EXPORT pid_t _Fork(void) {
    CONTROLLED(_Fork);
    return process_fork(SITE);
}

/* A child that shares the parent's memory can't be told from here, and programs may not rely on it. */
EXPORT pid_t vfork(void) {
    if (!controlled()) return REAL(fork)();
    GUARD;
    return process_fork(SITE);
}

/* The program takes its alarm along. */
static int exec(const char *path, char *const *arguments, char *const *environment) {
    timers_before_exec();
    int result = REAL(execve)(path, arguments, environment);
    timers_exec_failed();
    return result;
}

static int execute(const char *path, char *const *arguments, char *const *environment,
                   uint64_t site) {
    if (!controlled()) {
        char *const *all = segment ? with_control(environment) : environment;
        return REAL(execve)(path, arguments, all);
    }
    GUARD;
    prefers_kernel_threads("exec");
    perform(EXECUTE, current_resource(), site);
    if (access(path, X_OK) < 0) return -1;
    if (!can_be_executed(path)) return REAL(execve)(path, arguments, environment);
    struct process *process = &PROCESSES[this_process];
    if (can_take_part(path)) {
        process->main_task = index_of(current);
        return exec(path, arguments, with_control(environment));
    }
    /* It goes its own way; those that are left go on without it. */
    process->joined = 0;
    current = NULL;
    for (uint32_t i = 0; i < segment->tasks; i++)
        if (TASKS[i].process == this_process && TASKS[i].state == ALIVE) task_remove(&TASKS[i]);
    /* Not decided here: that may take until this process has ended. */
    for (uint32_t i = 0; this_process && i < segment->alive_count; i++) {
        const struct task *other = &TASKS[segment->alive[i]];
        if (!PROCESSES[other->process].joined) continue;
        segment->running = segment->alive[i];
        schedule_elsewhere();
        break;
    }
    return exec(path, arguments, without_control(environment));
}

EXPORT int execve(const char *path, char *const arguments[], char *const environment[]) {
    return execute(path, arguments, environment, SITE);
}

EXPORT int execv(const char *path, char *const arguments[]) {
    return execute(path, arguments, environ, SITE);
}

/* A script that names nobody is for the shell. */
static int execute_by_shell(char *path, char *const *arguments, char *const *environment, uint64_t site) {
    static char shell[] = "/bin/sh";
    size_t count = 0;
    while (arguments[count]) count++;
    char *all[count + 3];
    all[0] = shell;
    all[1] = path;
    for (size_t i = 1; i <= count; i++) all[i + 1] = arguments[i];
    if (!count) all[2] = NULL;
    return execute(shell, all, environment, site);
}

static int find_and_execute(const char *name, char *const *arguments, char *const *environment, uint64_t site) {
    char path[PATH_LENGTH];
    if (!find_program(name, path)) {
        errno = ENOENT;
        return -1;
    }
    int result = execute(path, arguments, environment, site);
    return errno == ENOEXEC ? execute_by_shell(path, arguments, environment, site) : result;
}

EXPORT int execvpe(const char *name, char *const arguments[], char *const environment[]) {
    return find_and_execute(name, arguments, environment, SITE);
}

EXPORT int execvp(const char *name, char *const arguments[]) {
    return find_and_execute(name, arguments, environ, SITE);
}

/* The C library's own reach the kernel from inside of it, with the environment as the program made it. */
static size_t count_arguments(va_list list) {
    size_t count = 1;
    while (va_arg(list, char *)) count++;
    return count;
}

#define WITH_LIST(call) \
    va_list list; \
    va_start(list, first); \
    size_t count = count_arguments(list); \
    va_end(list); \
    char *arguments[count + 1]; \
    arguments[0] = (char *)(uintptr_t)first; \
    va_start(list, first); \
    for (size_t i = 1; i <= count; i++) arguments[i] = va_arg(list, char *); \
    int result = call; \
    va_end(list); \
    return result

EXPORT int execl(const char *path, const char *first, ...) {
    WITH_LIST(execute(path, arguments, environ, SITE));
}

EXPORT int execlp(const char *name, const char *first, ...) { WITH_LIST(execvp(name, arguments)); }

EXPORT int execle(const char *path, const char *first, ...) {
    WITH_LIST(execute(path, arguments, va_arg(list, char **), SITE));
}

/* -- daemon and forkpty, whose forks are inside of the C library -------------------------------- */

EXPORT int daemon(int keeps_directory, int keeps_streams) {
    CONTROLLED(daemon, keeps_directory, keeps_streams);
    pid_t child = process_fork(SITE);
    if (child < 0) return -1;
    if (child > 0) {
        perform(END, current_resource(), SITE);
        process_leave();
        REAL(_exit)(0);
    }
    if (setsid() < 0) return -1;
    if (!keeps_directory && chdir("/") < 0) return -1;
    if (keeps_streams) return 0;
    int nothing = open("/dev/null", O_RDWR);
    if (nothing < 0) return -1;
    for (int i = 0; i < 3; i++) REAL(dup2)(nothing, i);
    if (nothing > 2) REAL(close)(nothing);
    return 0;
}

EXPORT int forkpty(int *terminal, char *name, const struct termios *mode,
                   const struct winsize *size) {
    CONTROLLED(forkpty, terminal, name, mode, size);
    int its;
    if (openpty(terminal, &its, name, mode, size) < 0) return -1;
    pid_t child = process_fork(SITE);
    if (child) {
        REAL(close)(its);
        if (child < 0) REAL(close)(*terminal);
        return child;
    }
    REAL(close)(*terminal);
    if (login_tty(its) < 0) REAL(_exit)(1);
    return 0;
}

/* -- posix_spawn ---------------------------------------------------------------------------- */

static int spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const arguments[],
                 char *const environment[], uint64_t site) {
    bool takes_part = !live && can_take_part(path);
    struct task *task = process_prepare(site);
    if (fails(FORK_FAULT, site)) {
        process_not_started(task);
        return errno;
    }
    char *const *all = takes_part ? with_control(environment) : without_control(environment);
    pid_t child;
    int result = REAL(posix_spawn)(&child, path, actions, attributes, arguments, all);
    if (result) {
        process_not_started(task);
        return result;
    }
    if (live) live->has_children = 1;
    if (pid) *pid = child;
    process_started(task, child, takes_part);
    return 0;
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const arguments[],
                       char *const environment[]) {
    CONTROLLED(posix_spawn, pid, path, actions, attributes, arguments, environment);
    return spawn(pid, path, actions, attributes, arguments, environment, SITE);
}

EXPORT int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const arguments[],
                        char *const environment[]) {
    CONTROLLED(posix_spawnp, pid, name, actions, attributes, arguments, environment);
    char path[PATH_LENGTH];
    if (!find_program(name, path)) return ENOENT;
    return spawn(pid, path, actions, attributes, arguments, environment, SITE);
}

/* -- waiting -------------------------------------------------------------------------------- */

static struct process *child_with(pid_t pid) {
    for (uint32_t i = 0; i < segment->processes; i++) {
        struct process *child = &PROCESSES[i];
        if (child->parent != this_process || child->collected) continue;
        if (child_is_meant(child, pid) && (pid > 0 || child->state == OVER)) return child;
    }
    return NULL;
}

static uint32_t resource_of(pid_t pid, uint64_t site) {
    struct process *child = pid > 0 ? child_with(pid) : NULL;
    if (child) return TASK_BIT | child->main_task;
    return resource_index(resource_at(&any_child, CHILDREN, false, site, NULL));
}

/* No child was waited for: a signal came. */
#define INTERRUPTED_WAIT INT_MIN

/* The child to collect, or 0 if there is none yet and nobody wants to wait. */
static pid_t wait_for(pid_t pid, int options, uint64_t site) {
    if (pid == 0) pid = -getpgrp();
    uint32_t resource = resource_of(pid, site);
    if (options & WNOHANG) {
        perform(INSPECT, resource, site);
        if (!child_ended(this_process, pid)) {
            fruitless(site);
            return 0;
        }
    } else {
        struct waiting waiting = {CHILD_ENDED, (uint64_t)(int64_t)pid, NO_DEADLINE, true, true};
        while (perform_when(JOIN, resource, site, waiting) == INTERRUPTED)
            if (!current->restarts) {
                errno = EINTR;
                return INTERRUPTED_WAIT;
            }
    }
    struct process *child = child_with(pid);
    if (!child) return pid;
    if (!(options & WNOWAIT)) child->collected = 1;
    return child->pid;
}

static pid_t collect(pid_t pid, int *status, int options, struct rusage *usage, uint64_t site) {
    pid_t child = wait_for(pid, options, site);
    if (child == 0) return 0;
    if (child == INTERRUPTED_WAIT) return -1;
    /* It is gone or about to be. */
    return REAL(wait4)(child, status, options & ~WNOHANG, usage);
}

EXPORT pid_t wait(int *status) {
    CONTROLLED(wait, status);
    return collect(-1, status, 0, NULL, SITE);
}

EXPORT pid_t waitpid(pid_t pid, int *status, int options) {
    CONTROLLED(waitpid, pid, status, options);
    return collect(pid, status, options, NULL, SITE);
}

EXPORT pid_t wait3(int *status, int options, struct rusage *usage) {
    CONTROLLED(wait3, status, options, usage);
    return collect(-1, status, options, usage, SITE);
}

EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage) {
    CONTROLLED(wait4, pid, status, options, usage);
    return collect(pid, status, options, usage, SITE);
}

/* No number of a process. */
#define NOBODY INT_MIN

/* The process that a descriptor stands for (pidfd_open), if a wait by it blocks. */
static pid_t process_behind(int fd) {
    int flags = REAL(fcntl)(fd, F_GETFL);
    if (flags < 0 || flags & O_NONBLOCK) return NOBODY;
    char path[48], text[1024];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    read_start(path, text, sizeof text);
    const char *found = strstr(text, "\nPid:");
    pid_t pid = found ? atoi(found + strlen("\nPid:")) : 0;
    return pid > 0 ? pid : NOBODY;
}

static pid_t meant_by(idtype_t type, id_t id) {
    switch (type) {
    case P_PID: return (pid_t)id;
    case P_PGID: return id ? -(pid_t)id : 0;
    case P_PIDFD: return process_behind((int)id);
    default: return -1;
    }
}

EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
    CONTROLLED(waitid, type, id, info, options);
    pid_t pid = meant_by(type, id);
    if (!(options & WEXITED) || pid == NOBODY) return REAL(waitid)(type, id, info, options);
    pid_t child = wait_for(pid, options, SITE);
    if (child == 0) {
        if (info) memset(info, 0, sizeof *info);
        return 0;
    }
    if (child == INTERRUPTED_WAIT) return -1;
    if (child < 0) return REAL(waitid)(type, id, info, options);
    return REAL(waitid)(P_PID, (id_t)child, info, options & ~WNOHANG);
}

/* Whatever signals come. */
static int status_of(pid_t pid, uint64_t site) {
    int status = -1;
    pid_t child;
    do child = collect(pid, &status, 0, NULL, site);
    while (child < 0 && errno == EINTR);
    return child < 0 ? -1 : status;
}

/* -- shells --------------------------------------------------------------------------------- */

static void shell(const char *command) {
    char *const arguments[] = {"sh", "-c", (char *)(uintptr_t)command, NULL};
    busy = 0;
    execute("/bin/sh", arguments, environ, 0);
    REAL(_exit)(127);
}

EXPORT int system(const char *command) {
    CONTROLLED(system, command);
    if (!command) return 1;
    /* A handler that collects all children must not come first. */
    sigset_t ends_of_children, before;
    sigemptyset(&ends_of_children);
    sigaddset(&ends_of_children, SIGCHLD);
    fibers_keep_masks();
    REAL(pthread_sigmask)(SIG_BLOCK, &ends_of_children, &before);
    pid_t pid = process_fork(SITE);
    if (pid == 0) {
        REAL(pthread_sigmask)(SIG_SETMASK, &before, NULL);
        shell(command);
    }
    int status = pid < 0 ? -1 : status_of(pid, SITE), error = errno;
    REAL(pthread_sigmask)(SIG_SETMASK, &before, NULL);
    errno = error;
    return status;
}

/* Streams that popen has opened, and their processes. */
static struct {
    FILE *stream;
    pid_t pid;
} opened[64];

void popened_closes(const FILE *stream) {
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
        if (opened[i].stream == stream) opened[i].stream = NULL;
}

/* A child has none of the streams that were opened before its own: whoever reads from one waits for the end of all
 * that could write to it. */
static void close_opened(void) {
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
        if (opened[i].stream) REAL(close)(fileno(opened[i].stream));
}

EXPORT FILE *popen(const char *command, const char *mode) {
    CONTROLLED(popen, command, mode);
    bool reads = strchr(mode, 'r') != NULL;
    if (mode[strspn(mode, "rwe")] || reads == (strchr(mode, 'w') != NULL)) {
        errno = EINVAL;
        return NULL;
    }
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return NULL;
    int mine = ends[reads ? 0 : 1], its = ends[reads ? 1 : 0];
    pid_t pid = process_fork(SITE);
    if (pid == 0) {
        close_opened();
        REAL(dup2)(its, reads ? 1 : 0);
        shell(command);
    }
    REAL(close)(its);
    FILE *stream = pid < 0 ? NULL : fdopen(mine, reads ? "r" : "w");
    if (!stream) {
        REAL(close)(mine);
        return NULL;
    }
    if (!strchr(mode, 'e')) REAL(fcntl)(mine, F_SETFD, 0);
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) {
        if (opened[i].stream) continue;
        opened[i].stream = stream;
        opened[i].pid = pid;
        break;
    }
    return stream;
}

EXPORT int pclose(FILE *stream) {
    CONTROLLED(pclose, stream);
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) {
        if (opened[i].stream != stream) continue;
        /* Another task may take the place as soon as it is free. */
        pid_t pid = opened[i].pid;
        opened[i].stream = NULL;
        fclose(stream);
        segment->fd_changes++;
        return status_of(pid, SITE);
    }
    return REAL(pclose)(stream);
}
