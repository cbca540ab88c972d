/* Functions of which the C library has several versions.
 *
 * A program that was linked with the sanitizer's runtime found them there, without a version, and now gets the oldest
 * one of the C library unless it finds them here.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "real.h"

/* Without its header, which says more of it than all compilers understand. */
int regexec(const void *expression, const char *text, size_t count, void *matches, int flags);

/* Other processors have one version only. */
static void *newest(const char *name, const char *version) {
    void *function = dlvsym(RTLD_NEXT, name, version);
    return function ? function : dlsym(RTLD_NEXT, name);
}

#define NEWEST(version, type, name, parameters, ...) \
    EXPORT type name parameters { \
        static __typeof__(&name) real; \
        if (__builtin_expect(!real, 0)) real = (__typeof__(&name))newest(#name, version); \
        return real(__VA_ARGS__); \
    }

NEWEST("GLIBC_2.3.2", int, pthread_cond_init, (pthread_cond_t * condition, const pthread_condattr_t *attributes),
       condition, attributes)
NEWEST("GLIBC_2.3.2", int, pthread_cond_destroy, (pthread_cond_t * condition), condition)
NEWEST("GLIBC_2.34", int, pthread_kill, (pthread_t thread, int number), thread, number)
NEWEST("GLIBC_2.3.4", int, pthread_attr_getaffinity_np,
       (const pthread_attr_t *attributes, size_t size, cpu_set_t *processors), attributes, size, processors)
NEWEST("GLIBC_2.3.4", int, sched_getaffinity, (pid_t process, size_t size, cpu_set_t *processors), process, size,
       processors)
NEWEST("GLIBC_2.22", FILE *, fmemopen, (void *buffer, size_t size, const char *mode), buffer, size, mode)
NEWEST("GLIBC_2.27", int, glob,
       (const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found), pattern, flags, failed, found)
NEWEST("GLIBC_2.27", int, glob64,
       (const char *pattern, int flags, int (*failed)(const char *, int), glob64_t *found), pattern, flags, failed,
       found)
NEWEST("GLIBC_2.15", int, posix_spawn,
       (pid_t * process, const char *path, const posix_spawn_file_actions_t *actions,
        const posix_spawnattr_t *attributes, char *const words[], char *const environment[]),
       process, path, actions, attributes, words, environment)
NEWEST("GLIBC_2.15", int, posix_spawnp,
       (pid_t * process, const char *file, const posix_spawn_file_actions_t *actions,
        const posix_spawnattr_t *attributes, char *const words[], char *const environment[]),
       process, file, actions, attributes, words, environment)
NEWEST("GLIBC_2.3", char *, realpath, (const char *path, char *resolved), path, resolved)
NEWEST("GLIBC_2.3.4", int, regexec,
       (const void *expression, const char *text, size_t count, void *matches, int flags), expression, text, count,
       matches, flags)
