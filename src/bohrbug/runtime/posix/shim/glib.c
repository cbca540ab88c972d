/* The locks of GLib are made of futexes, and make no call while nobody contends for them: before each of its functions
 * that uses one there is a scheduling point, and the rest is left to GLib.
 *
 * To add a function: a line below. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#include "newest.h"
#include "order.h"
#include "real.h"
#include "schedule.h"

/* Nothing links against it: a program that never loads it need not have it, and one that does so late
 * may have it where only those see it that asked for it. */
static void *function_of_glib(const char *name) {
    void *found = newest(name);
    void *library = found ? NULL : dlopen("libglib-2.0.so.0", RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, name) : found;
}

/* The point before a call that takes something from an object, or lets others have something. */
static void before(enum kind kind, const void *object, uint64_t site) {
    if (!controlled() || busy || segment->alive_count < 2) return;
    GUARD;
    perform(kind, resource_index(resource_at(object, FUTEX, false, site, NULL)), site);
}

/* The call is over: what others had let go of by that object is known. */
static void behind(enum kind kind, const void *object, uint64_t site, bool in_vain) {
    if (!controlled() || busy || segment->alive_count < 2) return;
    GUARD;
    uint32_t resource = resource_index(resource_at(object, FUTEX, false, site, NULL));
    if (kind == SET) after_release(resource, site);
    else if (order_is_kept()) order_learn(resource);
    if (in_vain) fruitless(site);
}

#define REAL_OF_GLIB(name, type, parameters) \
    static type (*real) parameters; \
    if (!real) real = (type(*) parameters)function_of_glib(#name)

#define OF_GLIB(kind, name, parameters, object, ...) \
    void name parameters; \
    EXPORT void name parameters { \
        REAL_OF_GLIB(name, void, parameters); \
        before(kind, object, SITE); \
        real(__VA_ARGS__); \
        behind(kind, object, SITE, false); \
    }

/* ... one that may find nothing. */
#define GIVEN_BY_GLIB(kind, type, name, parameters, object, ...) \
    type name parameters; \
    EXPORT type name parameters { \
        REAL_OF_GLIB(name, type, parameters); \
        before(kind, object, SITE); \
        type result = real(__VA_ARGS__); \
        behind(kind, object, SITE, !result); \
        return result; \
    }

OF_GLIB(TRY_ACQUIRE, g_mutex_lock, (void *mutex), mutex, mutex)
GIVEN_BY_GLIB(TRY_ACQUIRE, int, g_mutex_trylock, (void *mutex), mutex, mutex)
OF_GLIB(SET, g_mutex_unlock, (void *mutex), mutex, mutex)

/* The wait itself is one for a futex. */
EXPORT void g_cond_wait(void *condition, void *mutex);
EXPORT void g_cond_wait(void *condition, void *mutex) {
    REAL_OF_GLIB(g_cond_wait, void, (void *, void *));
    before(SET, mutex, SITE);
    real(condition, mutex);
    behind(TRY_ACQUIRE, mutex, SITE, false);
}
EXPORT int g_cond_wait_until(void *condition, void *mutex, int64_t moment);
EXPORT int g_cond_wait_until(void *condition, void *mutex, int64_t moment) {
    REAL_OF_GLIB(g_cond_wait_until, int, (void *, void *, int64_t));
    before(SET, mutex, SITE);
    int result = real(condition, mutex, moment);
    behind(TRY_ACQUIRE, mutex, SITE, !result);
    return result;
}
OF_GLIB(SET, g_cond_signal, (void *condition), condition, condition)
OF_GLIB(SET, g_cond_broadcast, (void *condition), condition, condition)

GIVEN_BY_GLIB(TRY_ACQUIRE, void *, g_once_impl, (void *once, void *(*make)(void *), void *argument), once, once, make,
              argument)
GIVEN_BY_GLIB(TRY_ACQUIRE, int, g_once_init_enter, (volatile void *place), (const void *)place, place)
OF_GLIB(SET, g_once_init_leave, (volatile void *place, size_t value), (const void *)place, place, value)

OF_GLIB(TRY_ACQUIRE, g_async_queue_lock, (void *queue), queue, queue)
OF_GLIB(SET, g_async_queue_unlock, (void *queue), queue, queue)
OF_GLIB(SET, g_async_queue_push, (void *queue, void *data), queue, queue, data)
OF_GLIB(SET, g_async_queue_push_front, (void *queue, void *data), queue, queue, data)
GIVEN_BY_GLIB(TRY_ACQUIRE, void *, g_async_queue_pop, (void *queue), queue, queue)
GIVEN_BY_GLIB(TRY_ACQUIRE, void *, g_async_queue_try_pop, (void *queue), queue, queue)
GIVEN_BY_GLIB(TRY_ACQUIRE, void *, g_async_queue_timeout_pop, (void *queue, uint64_t time), queue, queue, time)
GIVEN_BY_GLIB(INSPECT, int, g_async_queue_length, (void *queue), queue, queue)

GIVEN_BY_GLIB(SET, int, g_thread_pool_push, (void *pool, void *data, void **error), pool, pool, data, error)
GIVEN_BY_GLIB(INSPECT, unsigned, g_thread_pool_unprocessed, (void *pool), pool, pool)
