/* Functions of which the C library has several versions, and for which ours have no other use.
 *
 * A program that was linked with the sanitizer's runtime found them there, without a version, and now gets the oldest
 * one of the C library unless it finds them in the library that stands for the runtime.
 */
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shim/newest.h"

#define EXPORT __attribute__((visibility("default")))

/* Without their headers, which say more of the first than all compilers understand. */
int regexec(const void *expression, const char *text, size_t count, void *matches, int flags);
double lgamma(double number);
float lgammaf(float number);
long double lgammal(long double number);

#define PASSED_ON(type, name, parameters, ...) \
    EXPORT type name parameters { \
        static __typeof__(&name) real; \
        if (__builtin_expect(!real, 0)) real = (__typeof__(&name))newest(#name); \
        return real(__VA_ARGS__); \
    }

PASSED_ON(int, pthread_cond_init, (pthread_cond_t * condition, const pthread_condattr_t *attributes),
          condition, attributes)
PASSED_ON(int, pthread_cond_destroy, (pthread_cond_t * condition), condition)
PASSED_ON(int, pthread_kill, (pthread_t thread, int number), thread, number)
PASSED_ON(int, pthread_attr_getaffinity_np,
          (const pthread_attr_t *attributes, size_t size, cpu_set_t *processors), attributes, size, processors)
PASSED_ON(int, sched_getaffinity, (pid_t process, size_t size, cpu_set_t *processors), process, size,
          processors)
PASSED_ON(FILE *, fmemopen, (void *buffer, size_t size, const char *mode), buffer, size, mode)
PASSED_ON(int, glob,
          (const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found), pattern, flags, failed,
          found)
PASSED_ON(int, glob64,
          (const char *pattern, int flags, int (*failed)(const char *, int), glob64_t *found), pattern, flags, failed,
          found)
PASSED_ON(int, posix_spawn,
          (pid_t * process, const char *path, const posix_spawn_file_actions_t *actions,
           const posix_spawnattr_t *attributes, char *const words[], char *const environment[]),
          process, path, actions, attributes, words, environment)
PASSED_ON(int, posix_spawnp,
          (pid_t * process, const char *file, const posix_spawn_file_actions_t *actions,
           const posix_spawnattr_t *attributes, char *const words[], char *const environment[]),
          process, file, actions, attributes, words, environment)
PASSED_ON(char *, realpath, (const char *path, char *resolved), path, resolved)
PASSED_ON(int, regexec,
          (const void *expression, const char *text, size_t count, void *matches, int flags), expression, text, count,
          matches, flags)
PASSED_ON(double, lgamma, (double number), number)
PASSED_ON(float, lgammaf, (float number), number)
PASSED_ON(long double, lgammal, (long double number), number)
