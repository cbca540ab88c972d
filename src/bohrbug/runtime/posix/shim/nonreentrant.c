/* Functions that give back a buffer of their own, which the next call overwrites.
 *
 * dBug's monitor (Simsa, Bryant and Gibson, 2011): two threads of a process must not be about to call
 * one of them at the same time, for in a real execution the calls would overlap.  The list is that of
 * POSIX (2017, XSH 2.9.1), less what the C library of GNU has made safe.
 */
#include <string.h>

#include "ending.h"
#include "process.h"
#include "real.h"
#include "schedule.h"

static void begin_call(const char *name, const void *buffer, uint64_t site) {
    if (segment->alive_count < 2) return;
    struct resource *resource = resource_at(buffer, FUNCTION, false, site, NULL);
    uint32_t number = resource_index(resource);
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct task *other = &TASKS[segment->alive[i]];
        if (other == current || other->kind != CALL || other->resource != number) continue;
        char path[64];
        /* The resource is of this process, and so is the task. */
        const char *called = (const char *)(uintptr_t)other->target;
        misuse(NOT_REENTRANT, number, site,
               "%s, which is not reentrant, is called while task %s is about to call %s", name, path_of(index_of(other), path, sizeof path),
               strcmp(called, name) ? called : "it, too");
    }
    perform_when(CALL, number, site,
                 (struct waiting){ALWAYS, (uint64_t)(uintptr_t)name, NO_DEADLINE, false, false});
}

/* What was given back may be overwritten before it is looked at. */
static void end_call(const void *buffer, uint64_t site) {
    if (segment->alive_count > 1)
        after_release(resource_index(resource_at(buffer, FUNCTION, false, site, NULL)), site);
}

/* The function, which buffer it shares (that of another one, perhaps), parameters, arguments. */
#define NOT_REENTRANT(type, name, shared, parameters, ...) \
    EXPORT type name parameters { \
        CONTROLLED(name, __VA_ARGS__); \
        const void *buffer = (const void *)(uintptr_t)REAL(shared); \
        begin_call(#name, buffer, SITE); \
        type result = REAL(name)(__VA_ARGS__); \
        end_call(buffer, SITE); \
        return result; \
    }

NOT_REENTRANT(char *, asctime, asctime, (const struct tm *time), time)
NOT_REENTRANT(char *, ctime, localtime, (const time_t *time), time)
NOT_REENTRANT(struct tm *, gmtime, localtime, (const time_t *time), time)
NOT_REENTRANT(struct tm *, localtime, localtime, (const time_t *time), time)
NOT_REENTRANT(struct tm *, getdate, getdate, (const char *text), text)
NOT_REENTRANT(char *, strtok, strtok, (char *text, const char *separators), text, separators)

NOT_REENTRANT(struct hostent *, gethostbyname, gethostbyname, (const char *name), name)
NOT_REENTRANT(struct hostent *, gethostbyname2, gethostbyname2, (const char *name, int family), name,
              family)
NOT_REENTRANT(struct hostent *, gethostbyaddr, gethostbyaddr,
              (const void *address, socklen_t length, int type), address, length, type)
NOT_REENTRANT(struct hostent *, gethostent, gethostent, (void))
NOT_REENTRANT(struct netent *, getnetbyname, getnetbyname, (const char *name), name)
NOT_REENTRANT(struct netent *, getnetbyaddr, getnetbyaddr, (uint32_t net, int type), net, type)
NOT_REENTRANT(struct netent *, getnetent, getnetent, (void))
NOT_REENTRANT(struct protoent *, getprotobyname, getprotobyname, (const char *name), name)
NOT_REENTRANT(struct protoent *, getprotobynumber, getprotobynumber, (int number), number)
NOT_REENTRANT(struct protoent *, getprotoent, getprotoent, (void))
NOT_REENTRANT(struct servent *, getservbyname, getservbyname,
              (const char *name, const char *protocol), name, protocol)
NOT_REENTRANT(struct servent *, getservbyport, getservbyport, (int port, const char *protocol), port,
              protocol)
NOT_REENTRANT(struct servent *, getservent, getservent, (void))

NOT_REENTRANT(struct passwd *, getpwnam, getpwnam, (const char *name), name)
NOT_REENTRANT(struct passwd *, getpwuid, getpwuid, (uid_t user), user)
NOT_REENTRANT(struct passwd *, getpwent, getpwent, (void))
NOT_REENTRANT(struct group *, getgrnam, getgrnam, (const char *name), name)
NOT_REENTRANT(struct group *, getgrgid, getgrgid, (gid_t group), group)
NOT_REENTRANT(struct group *, getgrent, getgrent, (void))
NOT_REENTRANT(char *, getlogin, getlogin, (void))
NOT_REENTRANT(char *, ttyname, ttyname, (int fd), fd)
NOT_REENTRANT(char *, ptsname, ptsname, (int fd), fd)

NOT_REENTRANT(double, drand48, drand48, (void))
NOT_REENTRANT(long, lrand48, drand48, (void))
NOT_REENTRANT(long, mrand48, drand48, (void))
NOT_REENTRANT(char *, l64a, l64a, (long number), number)
NOT_REENTRANT(char *, ecvt, ecvt, (double number, int digits, int *point, int *sign), number, digits,
              point, sign)
NOT_REENTRANT(char *, fcvt, fcvt, (double number, int digits, int *point, int *sign), number, digits,
              point, sign)
NOT_REENTRANT(int, hcreate, hsearch, (size_t size), size)
NOT_REENTRANT(ENTRY *, hsearch, hsearch, (ENTRY entry, ACTION action), entry, action)
