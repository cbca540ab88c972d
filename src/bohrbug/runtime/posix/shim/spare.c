#include "spare.h"

#include <locale.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fiber.h"
#include "populate.h"
#include "real.h"
#include "thread.h"

/* Deeper than most threads get: memory that is there already need not be asked for in each execution. */
#define STACK_IN_USE 8192
#define PAGE ((uintptr_t)4096)

static struct spare {
    struct fiber fiber;
    pthread_t handle;
    uint64_t stack_size;
    int32_t thread;
    struct task *task;         /* that it was given out for, or NULL */
    void *result;
} spares[MOST_SPARES];
static unsigned count;
static void *(*begin_task)(struct task *task);

unsigned spare_count(void) { return count; }

void spares_touch(void) {
    for (unsigned i = 0; i < count; i++) {
        /* The thread-local variables lie above the stack. */
        uintptr_t from = ((uintptr_t)spares[i].fiber.stack - 1) & ~(PAGE - 1);
        uintptr_t to = (uintptr_t)spares[i].fiber.thread_pointer + PAGE;
        if (to - from < STACK_IN_USE + 16 * PAGE)
            populate(from, to, MADV_POPULATE_WRITE);
    }
}

/* -- what can be given out ------------------------------------------------------------------ */

/* As it was made by pthread_attr_init, but for what tells nothing about the thread itself. */
static bool is_plain(const pthread_attr_t *attributes, size_t size) {
    pthread_attr_t plain;
    int detached;
    if (pthread_attr_init(&plain)) return false;
    bool is_known = pthread_attr_getdetachstate(attributes, &detached) == 0 &&
                    pthread_attr_setdetachstate(&plain, detached) == 0 &&
                    (size == 0 || pthread_attr_setstacksize(&plain, size) == 0);
    bool is_same = is_known && memcmp(&plain, attributes, sizeof plain) == 0;
    pthread_attr_destroy(&plain);
    return is_same;
}

static size_t default_size(void) {
    pthread_attr_t defaults;
    size_t size = UNUSUAL;
    if (pthread_getattr_default_np(&defaults)) return UNUSUAL;
    if (pthread_attr_getstacksize(&defaults, &size) || !is_plain(&defaults, size)) size = UNUSUAL;
    pthread_attr_destroy(&defaults);
    return size;
}

uint64_t stack_size_of(const pthread_attr_t *attributes) {
    size_t size;
    if (!attributes || is_plain(attributes, 0)) return default_size();
    if (pthread_attr_getstacksize(attributes, &size)) return UNUSUAL;
    return is_plain(attributes, size) ? size : UNUSUAL;
}

/* -- making them ---------------------------------------------------------------------------- */

static __attribute__((noinline)) void touch_stack(void) {
    volatile char room[STACK_IN_USE];
    for (size_t at = 0; at < sizeof room; at += PAGE) room[at] = 0;
}

static void *wait_until_given(void *own) {
    struct spare *spare = own;
    spare->thread = (int32_t)syscall(SYS_gettid);
    thread_watch_end();
    touch_stack();
    /* The C library gives each thread a heap when it first asks for memory. */
    void *volatile memory = malloc(1);
    free(memory);
    fiber_wait(&spare->fiber);
    /* From here on in the carrier.  What new threads take over of the locale: */
    uselocale(LC_GLOBAL_LOCALE);
    spare->task->thread = spare->thread;
    spare->result = begin_task(spare->task);
    return spare->result;
}

static bool make(struct spare *spare) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes)) return false;
    bool is_made = pthread_attr_setstacksize(&attributes, spare->stack_size) == 0 &&
                   REAL(pthread_create)(&spare->handle, &attributes, wait_until_given, spare) == 0;
    pthread_attr_destroy(&attributes);
    if (is_made) fiber_await(&spare->fiber);
    return is_made;
}

bool spares_make(const char *sizes, void *(*begin)(struct task *task)) {
    begin_task = begin;
    sigset_t all, before;
    sigfillset(&all);
    /* They inherit it: the carrier alone gets signals. */
    if (REAL(pthread_sigmask)(SIG_SETMASK, &all, &before)) return false;
    bool are_made = true;
    while (*sizes && count < MOST_SPARES && are_made) {
        char *end;
        spares[count].stack_size = strtoull(sizes, &end, 10);
        if (end == sizes) break;
        sizes = *end ? end + 1 : end;
        if (spares[count].stack_size == UNUSUAL) continue;
        are_made = make(&spares[count]);
        if (are_made) count++;
    }
    REAL(pthread_sigmask)(SIG_SETMASK, &before, NULL);
    return are_made;
}

/* -- giving them out ------------------------------------------------------------------------ */

static struct spare *spare_of(const struct task *task) {
    for (unsigned i = 0; i < count; i++)
        if (spares[i].task == task) return &spares[i];
    return NULL;
}

bool is_spare(const struct task *task) { return spare_of(task) != NULL; }

bool spare_give(struct task *task, pthread_t *thread) {
    if (!on_fibers || task->stack_size == UNUSUAL) return false;
    for (unsigned i = 0; i < count; i++) {
        struct spare *spare = &spares[i];
        if (spare->task || spare->stack_size != task->stack_size) continue;
        spare->task = task;
        fiber_give(task, &spare->fiber);
        *thread = spare->handle;
        if (task->detached) REAL(pthread_detach)(spare->handle);
        return true;
    }
    return false;
}

void *spare_result(const struct task *task) { return spare_of(task)->result; }

void spare_exits(void *result) {
    struct spare *spare = current ? spare_of(current) : NULL;
    if (spare) spare->result = result;
}
