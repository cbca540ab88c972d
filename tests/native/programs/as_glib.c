/* Locks made of futexes under the names of GLib's. */
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wait_for(atomic_int *word, int value) { syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL); }
static void wake(atomic_int *word, int most) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, most, NULL); }

/* 0: free, 1: held, 2: held, and others may wait. */
static void take(atomic_int *mutex) {
    int free = 0;
    if (atomic_compare_exchange_strong(mutex, &free, 1)) return;
    while (atomic_exchange(mutex, 2)) wait_for(mutex, 2);
}

int g_mutex_trylock(atomic_int *mutex) {
    int free = 0;
    return atomic_compare_exchange_strong(mutex, &free, 1);
}

static void give_back(atomic_int *mutex) {
    if (atomic_exchange(mutex, 0) == 2) wake(mutex, 1);
}

void g_mutex_lock(atomic_int *mutex) { take(mutex); }
void g_mutex_unlock(atomic_int *mutex) { give_back(mutex); }

void g_cond_wait(atomic_int *condition, atomic_int *mutex) {
    int before = *condition;
    give_back(mutex);
    wait_for(condition, before);
    take(mutex);
}

void g_cond_signal(atomic_int *condition) {
    ++*condition;
    wake(condition, 1);
}

/* Not one of GLib's, and not made of them: a call of those would be a scheduling point. */
void own_lock(atomic_int *mutex) { take(mutex); }
void own_unlock(atomic_int *mutex) { give_back(mutex); }
