/* What semaphores, shared memory and message queues are called, by POSIX and by System V.
 *
 * Whoever makes a name, or takes one away, decides whether others find it, and nobody else's operations
 * on the object say so: the C library asks the kernel itself. */
#include "object_names.h"

#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "addresses.h"
#include "descriptor_numbers.h"
#include "files.h"
#include "real.h"
#include "trying.h"

/* -- POSIX ------------------------------------------------------------------------------------------ */

static void name_operation(bool opens, const char *names, const char *name, int flags, uint64_t site) {
    if (leads_nowhere(name)) return;
    char path[NAME_MAX + sizeof NAMES_OF_SEMAPHORES];
    while (*name == '/') name++;
    /* One that is too long is refused. */
    if (snprintf(path, sizeof path, "%s%s", names, name) >= (int)sizeof path) return;
    if (opens) file_opening(AT_FDCWD, path, flags, site);
    else file_name_operation(SET, AT_FDCWD, path, site);
}

void object_opening(const char *names, const char *name, int flags, uint64_t site) {
    name_operation(true, names, name, flags, site);
}

void object_unlinking(const char *names, const char *name, uint64_t site) {
    name_operation(false, names, name, 0, site);
}

EXPORT int sem_unlink(const char *name) {
    CALLED_BY_PROGRAM(sem_unlink, name);
    object_unlinking(NAMES_OF_SEMAPHORES, name, SITE);
    return REAL(sem_unlink)(name);
}

EXPORT int shm_open(const char *name, int flags, mode_t mode) {
    CALLED_BY_PROGRAM(shm_open, name, flags, mode);
    number_operation(SET, SITE);
    object_opening(NAMES_OF_MEMORY, name, flags, SITE);
    return REAL(shm_open)(name, flags, mode);
}

EXPORT int shm_unlink(const char *name) {
    CALLED_BY_PROGRAM(shm_unlink, name);
    object_unlinking(NAMES_OF_MEMORY, name, SITE);
    return REAL(shm_unlink)(name);
}

/* -- System V ----------------------------------------------------------------------------------------- */

/* The keys of all objects of a kind are one resource, which costs executions and leaves nothing out. */
enum { KEYS_OF_QUEUES, KEYS_OF_SEMAPHORES, KEYS_OF_MEMORY };

static uint32_t keys_operation(enum kind kind, uint64_t keys, uint64_t site) {
    uint32_t resource = numbered(SYSTEM_V_KEYS, keys, NAME, site);
    if (segment->alive_count > 1) perform(kind, resource, site);
    return resource;
}

static enum kind kind_of_get(int flags) { return flags & IPC_CREAT ? SET : INSPECT; }

EXPORT int msgget(key_t key, int flags) {
    CALLED_BY_PROGRAM(msgget, key, flags);
    if (key != IPC_PRIVATE) keys_operation(kind_of_get(flags), KEYS_OF_QUEUES, SITE);
    return REAL(msgget)(key, flags);
}

EXPORT int semget(key_t key, int count, int flags) {
    CALLED_BY_PROGRAM(semget, key, count, flags);
    if (key != IPC_PRIVATE) keys_operation(kind_of_get(flags), KEYS_OF_SEMAPHORES, SITE);
    return REAL(semget)(key, count, flags);
}

EXPORT int shmget(key_t key, size_t size, int flags) {
    CALLED_BY_PROGRAM(shmget, key, size, flags);
    if (key != IPC_PRIVATE) keys_operation(kind_of_get(flags), KEYS_OF_MEMORY, SITE);
    return REAL(shmget)(key, size, flags);
}

static bool only_looks(int command) {
    return command == IPC_STAT || command == GETVAL || command == GETPID || command == GETNCNT ||
           command == GETZCNT || command == GETALL;
}

/* Before what is done to the object as a whole, and afterwards: it may let others go on. */
static uint32_t before_control(int id, int command, uint64_t keys, uint64_t objects, uint64_t site) {
    if (command == IPC_RMID) keys_operation(SET, keys, site);
    uint32_t resource = numbered(objects, (uint32_t)id, DESCRIPTOR, site);
    perform(only_looks(command) ? INSPECT : SET, resource, site);
    return resource;
}

static void after_control(int command, uint32_t resource, uint64_t site) {
    if (!only_looks(command)) let_go(resource, site);
}

EXPORT int semctl(int id, int number, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    CALLED_BY_PROGRAM(semctl, id, number, command, argument);
    uint32_t resource = before_control(id, command, KEYS_OF_SEMAPHORES, SEMAPHORES, SITE);
    int result = REAL(semctl)(id, number, command, argument);
    after_control(command, resource, SITE);
    return result;
}

EXPORT int msgctl(int id, int command, struct msqid_ds *status) {
    CALLED_BY_PROGRAM(msgctl, id, command, status);
    uint32_t resource = before_control(id, command, KEYS_OF_QUEUES, QUEUES, SITE);
    int result = REAL(msgctl)(id, command, status);
    after_control(command, resource, SITE);
    return result;
}

/* Memory that was removed is gone once nobody has it any more. */
EXPORT int shmctl(int id, int command, struct shmid_ds *status) {
    CALLED_BY_PROGRAM(shmctl, id, command, status);
    keys_operation(only_looks(command) ? INSPECT : SET, KEYS_OF_MEMORY, SITE);
    return REAL(shmctl)(id, command, status);
}

EXPORT void *shmat(int id, const void *address, int flags) {
    CALLED_BY_PROGRAM(shmat, id, address, flags);
    keys_operation(SET, KEYS_OF_MEMORY, SITE);
    return REAL(shmat)(id, address, flags);
}

EXPORT int shmdt(const void *address) {
    CALLED_BY_PROGRAM(shmdt, address);
    keys_operation(SET, KEYS_OF_MEMORY, SITE);
    return REAL(shmdt)(address);
}
