/* Spin locks: whoever waits for one does not spin here. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "ending.h"
#include "real.h"
#include "schedule.h"

static struct resource *resource_of(pthread_spinlock_t *lock, uint64_t site) {
    /* Nothing in it says whether processes share it, but the memory does. */
    return resource_at((const void *)lock, SPINLOCK, true, site, NULL);
}

EXPORT int pthread_spin_init(pthread_spinlock_t *lock, int shared) {
    CONTROLLED(pthread_spin_init, lock, shared);
    int result = REAL(pthread_spin_init)(lock, shared);
    resource_make((const void *)lock, SPINLOCK, shared == PTHREAD_PROCESS_SHARED, SITE);
    return result;
}

EXPORT int pthread_spin_destroy(pthread_spinlock_t *lock) {
    CONTROLLED(pthread_spin_destroy, lock);
    resource_forget((const void *)lock);
    return REAL(pthread_spin_destroy)(lock);
}

EXPORT int pthread_spin_lock(pthread_spinlock_t *lock) {
    CONTROLLED(pthread_spin_lock, lock);
    struct resource *resource = resource_of(lock, SITE);
    perform_when(ACQUIRE, resource_index(resource), SITE,
                 (struct waiting){UNHELD, 0, NO_DEADLINE, false, false});
    int result = REAL(pthread_spin_trylock)(lock);
    if (result == 0) resource_take(resource, SITE);
    return result;
}

EXPORT int pthread_spin_trylock(pthread_spinlock_t *lock) {
    CONTROLLED(pthread_spin_trylock, lock);
    struct resource *resource = resource_of(lock, SITE);
    perform(TRY_ACQUIRE, resource_index(resource), SITE);
    int result = REAL(pthread_spin_trylock)(lock);
    if (result) fruitless(SITE);
    else resource_take(resource, SITE);
    return result;
}

EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock) {
    CONTROLLED(pthread_spin_unlock, lock);
    struct resource *resource = resource_of(lock, SITE);
    uint32_t number = resource_index(resource);
    perform(RELEASE, number, SITE);
    if (resource->owner.task == NONE)
        misuse(UNLOCK_UNOWNED, number, SITE, "unlock of a spin lock that nobody has locked");
    int result = REAL(pthread_spin_unlock)(lock);
    resource_release(resource);
    after_release(number, SITE);
    return result;
}
