/* Handlers of signals in threads that wait for something else; and waits for signals.
 *
 * What the main thread waits for is the argument: its handler lets another thread go on, which ends that wait. */
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t handled;
static pthread_t main_thread;
static int is_done;
static unsigned word;
static const char *what;

static int is(const char *name) { return !strcmp(what, name); }

static void handle(int number) {
    (void)number;
    sem_post(&handled);
}

static void *lets_main_go_on(void *unused) {
    if (is("mutex")) pthread_mutex_lock(&lock);
    if (is("rwlock")) pthread_rwlock_wrlock(&shared);
    if (!is("join-alarm")) pthread_kill(main_thread, SIGUSR1);
    while (sem_wait(&handled) < 0) assert(errno == EINTR);
    if (is("mutex")) pthread_mutex_unlock(&lock);
    if (is("rwlock")) pthread_rwlock_unlock(&shared);
    if (is("barrier")) pthread_barrier_wait(&barrier);
    if (is("condition")) {
        pthread_mutex_lock(&lock);
        is_done = 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    if (is("futex")) {
        __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    return unused;
}

static void waits(void) {
    if (is("mutex")) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    } else if (is("rwlock")) {
        pthread_rwlock_rdlock(&shared);
        pthread_rwlock_unlock(&shared);
    } else if (is("barrier")) {
        pthread_barrier_wait(&barrier);
    } else if (is("condition")) {
        pthread_mutex_lock(&lock);
        while (!is_done) pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
    } else if (is("futex")) {
        while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
            syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
}

static void handle_in_waits(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    main_thread = pthread_self();
    sem_init(&handled, 0, 0);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t thread;
    pthread_create(&thread, NULL, lets_main_go_on, NULL);
    if (is("join-alarm")) alarm(1);
    waits();
    pthread_join(thread, NULL);
}

static sigset_t awaited;

static void *takes_one(void *unused) {
    int number;
    assert(sigwait(&awaited, &number) == 0 && number == SIGUSR1);
    return unused;
}

/* Each has a signal of its own, which the other can't take. */
static void one_each(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, takes_one, NULL);
    for (int i = 0; i < 2; i++) pthread_kill(threads[i], SIGUSR1);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

static void *takes_value(void *value) {
    siginfo_t info;
    assert(sigwaitinfo(&awaited, &info) == SIGUSR1);
    *(int *)value = info.si_value.sival_int;
    return NULL;
}

static void with_a_value(void) {
    pthread_t thread;
    int value = 0;
    pthread_create(&thread, NULL, takes_value, &value);
    pthread_sigqueue(thread, SIGUSR1, (union sigval){.sival_int = 7});
    pthread_join(thread, NULL);
    assert(value == 7);
}

static void *takes_two(void *unused) {
    int first, second;
    sigwait(&awaited, &first);
    sigwait(&awaited, &second);
    assert(first != second);
    return unused;
}

static void two_for_one(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, takes_two, NULL);
    pthread_kill(thread, SIGUSR1);
    pthread_kill(thread, SIGUSR2);
    pthread_join(thread, NULL);
}

/* A handler ends such a wait, whatever its flags are. */
static void *is_interrupted(void *unused) {
    siginfo_t info;
    int number = sigwaitinfo(&awaited, &info);
    assert(number == SIGUSR1);
    return unused;
}

static void interrupted(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    sem_init(&handled, 0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, is_interrupted, NULL);
    pthread_kill(thread, SIGALRM);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
}

/* By what `signal` is in X/Open's mode, a handler ends a read. */
__typeof__(signal) __sysv_signal;
static int ends[2];

static void *reads(void *unused) {
    char byte;
    assert(read(ends[0], &byte, 1) == 1);
    return unused;
}

static void of_system_v(void) {
    pthread_t thread;
    if (pipe(ends) < 0) return;
    sem_init(&handled, 0, 0);
    __sysv_signal(SIGUSR1, handle);
    pthread_create(&thread, NULL, reads, NULL);
    pthread_kill(thread, SIGUSR1);
    if (write(ends[1], "x", 1) < 0) return;
    pthread_join(thread, NULL);
}

/* The handler runs in a thread that has done nothing yet, and waits for another signal there. */
static sem_t may_end;

static void handle_and_wait(int number) {
    sigset_t all_others;
    sigfillset(&all_others);
    sigdelset(&all_others, SIGUSR2);
    (void)number;
    sem_post(&handled);
    sigsuspend(&all_others);
}

static void *is_let_go(void *unused) {
    while (sem_wait(&may_end) < 0) assert(errno == EINTR);
    return unused;
}

static void before_it_begins(void) {
    struct sigaction action = {.sa_handler = handle_and_wait, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = handle;
    sigaction(SIGUSR2, &action, NULL);
    sem_init(&handled, 0, 0);
    sem_init(&may_end, 0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, is_let_go, NULL);
    pthread_kill(thread, SIGUSR1);
    while (sem_wait(&handled) < 0) continue;
    pthread_kill(thread, SIGUSR2);
    while (sem_wait(&handled) < 0) continue;
    sem_post(&may_end);
    pthread_join(thread, NULL);
}

/* A handler with SA_RESTART ends a wait for a semaphore only if that has a timeout, or is System V's. */
static int semaphores_of_system_v;

static void *takes(void *unused) {
    struct sembuf take = {0, -1, 0};
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 100;
    int result = is("semaphore") ? sem_wait(&may_end)
                 : is("semaphore-with-a-timeout") ? sem_timedwait(&may_end, &end)
                                                  : semop(semaphores_of_system_v, &take, 1);
    int error = errno;
    if (result < 0) semctl(semaphores_of_system_v, 0, IPC_RMID);
    assert(result == 0 || error == ETIMEDOUT);
    return unused;
}

static void takes_semaphore(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    struct sembuf give = {0, 1, 0};
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&handled, 0, 0);
    sem_init(&may_end, 0, 0);
    semaphores_of_system_v = semget(IPC_PRIVATE, 1, 0600);
    pthread_t thread;
    pthread_create(&thread, NULL, takes, NULL);
    pthread_kill(thread, SIGUSR1);
    if (is("semaphores-of-system-v")) semop(semaphores_of_system_v, &give, 1);
    else sem_post(&may_end);
    pthread_join(thread, NULL);
    semctl(semaphores_of_system_v, 0, IPC_RMID);
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*does)(void);
    } others[] = {
        {"one-each", one_each},       {"with-a-value", with_a_value}, {"two-for-one", two_for_one},
        {"interrupted", interrupted}, {"of-system-v", of_system_v},
        {"before-it-begins", before_it_begins},
        {"semaphore", takes_semaphore},
        {"semaphore-with-a-timeout", takes_semaphore},
        {"semaphores-of-system-v", takes_semaphore},
    };
    what = count > 1 ? arguments[1] : "";
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!is(others[i].name)) continue;
        sigemptyset(&awaited);
        sigaddset(&awaited, SIGUSR1);
        sigaddset(&awaited, SIGUSR2);
        bool blocks = !is("of-system-v") && !is("before-it-begins") && others[i].does != takes_semaphore;
        if (blocks) pthread_sigmask(SIG_BLOCK, &awaited, NULL);
        others[i].does();
        return 0;
    }
    handle_in_waits();
    return 0;
}
