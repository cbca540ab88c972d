/* The table of interposed functions, each of which is a cue point.  To add one: its name here, and a wrapper that
 * begins with CUE(name). */
#ifndef BOHRBUG_DELAYS_FUNCTIONS_H
#define BOHRBUG_DELAYS_FUNCTIONS_H

#define INTERPOSED(F) \
    F(pthread_create) F(pthread_join) F(pthread_tryjoin_np) F(pthread_timedjoin_np) F(pthread_clockjoin_np) \
    F(thrd_create) F(thrd_join) \
    F(pthread_mutex_lock) F(pthread_mutex_trylock) F(pthread_mutex_timedlock) F(pthread_mutex_clocklock) \
    F(pthread_mutex_unlock) F(mtx_lock) F(mtx_trylock) F(mtx_timedlock) F(mtx_unlock) \
    F(pthread_spin_lock) F(pthread_spin_trylock) F(pthread_spin_unlock) \
    F(pthread_rwlock_rdlock) F(pthread_rwlock_tryrdlock) F(pthread_rwlock_timedrdlock) \
    F(pthread_rwlock_clockrdlock) F(pthread_rwlock_wrlock) F(pthread_rwlock_trywrlock) \
    F(pthread_rwlock_timedwrlock) F(pthread_rwlock_clockwrlock) F(pthread_rwlock_unlock) \
    F(pthread_cond_wait) F(pthread_cond_timedwait) F(pthread_cond_clockwait) F(pthread_cond_signal) \
    F(pthread_cond_broadcast) F(cnd_wait) F(cnd_timedwait) F(cnd_signal) F(cnd_broadcast) \
    F(pthread_barrier_wait) F(pthread_once) F(call_once) \
    F(sem_wait) F(sem_trywait) F(sem_timedwait) F(sem_clockwait) F(sem_post) \
    F(sched_yield) F(syscall) F(_Fork) F(__assert_fail)

enum {
#define NUMBER(name) FUNCTION_##name,
    INTERPOSED(NUMBER)
#undef NUMBER
        FUNCTIONS
};

#endif
