/* The newest version of a function of the C library.
 *
 * Where it has several, the next function by its name alone may be the oldest: that depends on the version of the
 * dynamic linker. The oldest one may have other parameters, or another layout of what it is given.
 */
#ifndef BOHRBUG_NEWEST_H
#define BOHRBUG_NEWEST_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

/* All that our libraries stand before: name, version. Other processors have one version of most of them. */
#define SEVERAL_VERSIONS(F) \
    F(fmemopen, "GLIBC_2.22") \
    F(glob, "GLIBC_2.27") \
    F(glob64, "GLIBC_2.27") \
    F(lgamma, "GLIBC_2.23") \
    F(lgammaf, "GLIBC_2.23") \
    F(lgammal, "GLIBC_2.23") \
    F(lio_listio, "GLIBC_2.34") \
    F(lio_listio64, "GLIBC_2.34") \
    F(memcpy, "GLIBC_2.14") \
    F(posix_spawn, "GLIBC_2.15") \
    F(posix_spawnp, "GLIBC_2.15") \
    F(pthread_attr_getaffinity_np, "GLIBC_2.34") \
    F(pthread_cond_broadcast, "GLIBC_2.3.2") \
    F(pthread_cond_destroy, "GLIBC_2.3.2") \
    F(pthread_cond_init, "GLIBC_2.3.2") \
    F(pthread_cond_signal, "GLIBC_2.3.2") \
    F(pthread_cond_timedwait, "GLIBC_2.3.2") \
    F(pthread_cond_wait, "GLIBC_2.3.2") \
    F(pthread_getaffinity_np, "GLIBC_2.32") \
    F(pthread_kill, "GLIBC_2.34") \
    F(pthread_setaffinity_np, "GLIBC_2.34") \
    F(quick_exit, "GLIBC_2.24") \
    F(realpath, "GLIBC_2.3") \
    F(regexec, "GLIBC_2.3.4") \
    F(sched_getaffinity, "GLIBC_2.3.4") \
    F(sched_setaffinity, "GLIBC_2.3.4") \
    F(timer_create, "GLIBC_2.34") \
    F(timer_delete, "GLIBC_2.34") \
    F(timer_getoverrun, "GLIBC_2.34") \
    F(timer_gettime, "GLIBC_2.34") \
    F(timer_settime, "GLIBC_2.34")

/* Not by strcmp, which is one of those that are looked up. */
static inline bool is_same_name(const char *one, const char *other) {
    while (*one && *one == *other) ++one, ++other;
    return *one == *other;
}

static inline const char *newest_version(const char *name) {
#define ENTRY(name, version) {#name, version},
    static const struct {
        const char *name, *version;
    } table[] = {SEVERAL_VERSIONS(ENTRY)};
#undef ENTRY
    for (size_t i = 0; i < sizeof table / sizeof *table; ++i)
        if (is_same_name(table[i].name, name)) return table[i].version;
    return NULL;
}

/* The function that stands behind ours. */
static inline void *newest(const char *name) {
    void *next = dlsym(RTLD_NEXT, name);
    const char *version = newest_version(name);
    void *function = version ? dlvsym(RTLD_NEXT, name, version) : NULL;
    if (!function || function == next) return next;
    Dl_info of_next, of_function;
    /* Somebody else, such as a sanitizer, may stand before the C library, too. */
    if (next && dladdr(next, &of_next) && dladdr(function, &of_function) && of_next.dli_fbase != of_function.dli_fbase)
        return next;
    return function;
}

#endif
