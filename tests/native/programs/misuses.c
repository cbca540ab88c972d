/* Misuse behind which the C library goes on, and what lies behind each: a failed assertion.
 *
 * The kind is the argument. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t said = PTHREAD_COND_INITIALIZER;
static int value, is_said;

static void join_two(void *(*one)(void *), void *(*two)(void *)) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, two, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

/* The lock is not its own any more: another update gets lost. */
static void *adds(void *unused) {
    pthread_mutex_lock(&lock);
    int old = value;
    sched_yield();
    value = old + 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *unlocks_and_adds(void *unused) {
    pthread_mutex_unlock(&lock);
    return adds(unused);
}

static void unlock_unowned(void) {
    join_two(adds, unlocks_and_adds);
    assert(value == 2);
}

/* One that is not locked is unlocked, which changes nothing. */
static void *says(void *unused) {
    pthread_mutex_lock(&lock);
    is_said = 1;
    pthread_cond_signal(&said);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *waits(void *unused) {
    /* It may have been said in between. */
    if (!is_said) pthread_cond_wait(&said, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void wait_unowned(void) { join_two(says, waits); }

static void *destroys(void *unused) {
    value = pthread_mutex_destroy(&lock);
    return unused;
}

static void *locks(void *unused) {
    pthread_mutex_lock(&lock);
    sched_yield();
    pthread_mutex_unlock(&lock);
    return unused;
}

/* A mutex that is locked is not destroyed. */
static void destroy_locked(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, locks, NULL);
    pthread_create(&threads[1], NULL, destroys, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert(value != EBUSY);
}

/* One that was destroyed can't be locked. */
static void use_destroyed(void) {
    pthread_mutex_destroy(&lock);
    assert(pthread_mutex_unlock(&lock) == EINVAL);
    assert(pthread_mutex_trylock(&lock) == EINVAL);
    assert(pthread_cond_wait(&said, &lock) == EINVAL);
    int result = pthread_mutex_lock(&lock);
    assert(result == EINVAL);
    assert(!"it is the end");
}

static pthread_rwlock_t shared_lock;
static pthread_barrier_t barrier;
static sem_t semaphore;

static void destroyed_condition(void) {
    pthread_cond_destroy(&said);
    pthread_cond_signal(&said);
}

static void destroyed_rwlock(void) {
    pthread_rwlock_init(&shared_lock, NULL);
    pthread_rwlock_destroy(&shared_lock);
    pthread_rwlock_rdlock(&shared_lock);
}

static void destroyed_semaphore(void) {
    sem_init(&semaphore, 0, 1);
    sem_destroy(&semaphore);
    sem_post(&semaphore);
}

static void destroyed_barrier(void) {
    pthread_barrier_init(&barrier, NULL, 1);
    pthread_barrier_destroy(&barrier);
    pthread_barrier_wait(&barrier);
}

/* No misuse: what lies there is new. */
static void made_again(void) {
    for (int i = 0; i < 2; i++) {
        said = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
        pthread_cond_signal(&said);
        pthread_cond_destroy(&said);
        shared_lock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
        pthread_rwlock_wrlock(&shared_lock);
        pthread_rwlock_unlock(&shared_lock);
        pthread_rwlock_destroy(&shared_lock);
        sem_init(&semaphore, 0, 1);
        sem_wait(&semaphore);
        sem_destroy(&semaphore);
        pthread_barrier_init(&barrier, NULL, 1);
        pthread_barrier_wait(&barrier);
        pthread_barrier_destroy(&barrier);
    }
}

static void *leaves(void *unused) {
    pthread_mutex_lock(&lock);
    return unused;
}

/* Nobody gets it again. */
static void left_locked(void) { join_two(leaves, locks); }

static void *tells(void *unused) {
    time_t zero = 0;
    const struct tm *time = gmtime(&zero);
    if (time->tm_year == 70) __atomic_add_fetch(&value, 1, __ATOMIC_SEQ_CST);
    return unused;
}

static void *tells_later(void *unused) {
    time_t later = 40000000;
    gmtime(&later);
    return unused;
}

static void not_reentrant(void) {
    join_two(tells, tells_later);
    assert(value);
}

/* What lies there is as it was, but for the first words, into which allocators write. */
static void use_after_free(void) {
    char *block = malloc(256);
    pthread_mutex_t *freed = (pthread_mutex_t *)(block + 64);
    pthread_mutex_init(freed, NULL);
    free(block);
    pthread_mutex_lock(freed);
    pthread_mutex_unlock(freed);
    assert(!"it is the end");
}

static void *ends(void *unused) { return unused; }

static pthread_t started(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, ends, NULL);
    return thread;
}

/* It may not have ended yet, and then it is alright. */
static void use_ended_thread(void) {
    pthread_t thread = started();
    pthread_detach(thread);
    int result = pthread_kill(thread, 0);
    assert(result != ESRCH);
}

static void kill_joined(void) {
    signal(SIGUSR1, SIG_IGN);
    pthread_t thread = started();
    pthread_join(thread, NULL);
    pthread_kill(thread, SIGUSR1);
}

static void cancel_detached(void) {
    pthread_t thread = started();
    pthread_detach(thread);
    pthread_cancel(thread);
}

static void join_again(void) {
    pthread_t thread = started();
    pthread_join(thread, NULL);
    pthread_join(thread, NULL);
}

static pthread_t joined_by_two;

static void *waits_for_mutex(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *joins(void *unused) {
    pthread_join(joined_by_two, NULL);
    return unused;
}

/* If nobody is preempted, both wait for it already when it ends. */
static void join_at_once(void) {
    pthread_t threads[2];
    pthread_mutex_lock(&lock);
    pthread_create(&joined_by_two, NULL, waits_for_mutex, NULL);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, joins, NULL);
    sched_yield();
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

static void detach_joined(void) {
    pthread_t thread = started();
    pthread_join(thread, NULL);
    pthread_detach(thread);
}

static pthread_t detached_meanwhile;

static void *detaches(void *unused) {
    pthread_detach(detached_meanwhile);
    return unused;
}

/* Each task is alone with its use of the thread, which has ended for long. */
static void with_one_that_detaches(void *(*use)(void *)) {
    pthread_t users[2];
    detached_meanwhile = started();
    pthread_create(&users[0], NULL, use, NULL);
    pthread_create(&users[1], NULL, detaches, NULL);
    for (int i = 0; i < 2; i++) pthread_join(users[i], NULL);
}

static void *asks(void *unused) {
    pthread_kill(detached_meanwhile, 0);
    return unused;
}

static void *cancels(void *unused) {
    pthread_cancel(detached_meanwhile);
    return unused;
}

static void *joins_it(void *unused) {
    pthread_join(detached_meanwhile, NULL);
    return unused;
}

static void asked_or_detached(void) { with_one_that_detaches(asks); }
static void cancelled_or_detached(void) { with_one_that_detaches(cancels); }
static void joined_or_detached(void) { with_one_that_detaches(joins_it); }
static void detached_twice(void) { with_one_that_detaches(detaches); }

/* Nobody can join it any more, which is said at once. */
static void *holds_on(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void joined_detached(void) {
    pthread_t thread;
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, holds_on, NULL);
    assert(pthread_detach(thread) == 0);
    assert(pthread_join(thread, NULL) == EINVAL);
    pthread_mutex_unlock(&lock);
}

/* No misuse: a thread that nobody has joined yet keeps its handle, and a new one may have that of an old one. */
static void threads_that_are_there(void) {
    for (int i = 0; i < 2; i++) {
        pthread_t thread = started();
        assert(pthread_kill(thread, 0) == 0);
        sched_yield();
        assert(pthread_kill(thread, 0) == 0);
        assert(pthread_join(thread, NULL) == 0);
    }
    pthread_t thread = started();
    assert(pthread_detach(thread) == 0);
}

static void free_twice(void) {
    void *volatile block = malloc(64);
    free(block);
    free(block);
}

static void *writes(void *lock) {
    pthread_rwlock_wrlock(lock);
    sched_yield();
    pthread_rwlock_unlock(lock);
    return NULL;
}

static void unlock_rwlock(void) {
    static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
    pthread_t thread;
    pthread_create(&thread, NULL, writes, &shared);
    pthread_rwlock_unlock(&shared);
    pthread_join(thread, NULL);
}

/* Who waits for each other is let go on by somebody who has locked nothing. */
static pthread_barrier_t all;

static void *takes_both(void *is_second) {
    pthread_mutex_t *first = is_second ? &other : &lock, *second = is_second ? &lock : &other;
    pthread_mutex_lock(first);
    pthread_barrier_wait(&all);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
    return NULL;
}

static void break_circle(void) {
    pthread_t threads[2];
    pthread_barrier_init(&all, NULL, 3);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, takes_both, i ? &all : NULL);
    pthread_barrier_wait(&all);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*does)(void);
    } kinds[] = {
        {"unlock-unowned", unlock_unowned}, {"wait-unowned", wait_unowned},
        {"destroy-locked", destroy_locked}, {"use-destroyed", use_destroyed},
        {"left-locked", left_locked},       {"not-reentrant", not_reentrant},
        {"use-after-free", use_after_free}, {"free-twice", free_twice},
        {"unlock-rwlock", unlock_rwlock},   {"break-circle", break_circle},
        {"destroyed-condition", destroyed_condition}, {"destroyed-rwlock", destroyed_rwlock},
        {"destroyed-semaphore", destroyed_semaphore}, {"destroyed-barrier", destroyed_barrier},
        {"made-again", made_again}, {"use-ended-thread", use_ended_thread},
        {"kill-joined", kill_joined}, {"cancel-detached", cancel_detached},
        {"join-again", join_again}, {"join-at-once", join_at_once},
        {"detach-joined", detach_joined}, {"asked-or-detached", asked_or_detached},
        {"cancelled-or-detached", cancelled_or_detached}, {"joined-or-detached", joined_or_detached},
        {"detached-twice", detached_twice}, {"joined-detached", joined_detached}, {"threads-that-are-there", threads_that_are_there},
    };
    for (size_t i = 0; count > 1 && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(arguments[1], kinds[i].name)) kinds[i].does();
    return 0;
}
