/* Everything that a thread has for itself, while control passes between its threads; and with an argument
 * what only a thread of the kernel has. */
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 3
#define ROUNDS 4

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local int mine;
static int destroyed, prepared, wrong;
static pthread_t self[THREADS + 1];
static pid_t number[THREADS + 1];
static char *stack[THREADS + 1];

#define CHECK(condition) \
    do \
        if (!(condition)) wrong = fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
    while (0)

static void prepare(void) { prepared++; }

static void destroy(void *value) {
    pthread_mutex_lock(&mutex);
    destroyed += (int)(intptr_t)value;
    pthread_mutex_unlock(&mutex);
}

static int rounding_of(int index) {
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    return modes[index];
}

static void look_at_all(int index) {
    char here;
    sigset_t blocked;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&mutex);
        CHECK(errno == 100 + index);
        CHECK(mine == index);
        CHECK(pthread_equal(pthread_self(), self[index]));
        CHECK(gettid() == number[index]);
        CHECK(pthread_getspecific(key) == (void *)(intptr_t)index);
        CHECK(fegetround() == rounding_of(index));
        CHECK(labs(&here - stack[index]) < 4096);
        CHECK(pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0);
        CHECK(sigismember(&blocked, SIGRTMIN + index) && !sigismember(&blocked, SIGRTMIN + 9));
        for (int other = 0; other < index; other++) CHECK(number[other] != number[index]);
        pthread_mutex_unlock(&mutex);
        pthread_once(&once, prepare);
    }
}

static void *work(void *argument) {
    int index = (int)(intptr_t)argument;
    char here;
    errno = 100 + index;
    mine = index;
    self[index] = pthread_self();
    number[index] = gettid();
    stack[index] = &here;
    pthread_setspecific(key, argument);
    fesetround(rounding_of(index));
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGRTMIN + index);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    look_at_all(index);
    if (index == 2) pthread_exit((void *)20);
    return (void *)(intptr_t)(10 * index);
}

static void *nothing(void *unused) { return unused; }

static void on_signal(int number) { (void)number; }

static void what_only_the_kernel_has(const char *what) {
    if (strcmp(what, "a signal") == 0) {
        signal(SIGUSR1, on_signal);
        raise(SIGUSR1);
    } else if (strcmp(what, "a process") == 0) {
        if (fork() == 0) _exit(0);
    } else if (strcmp(what, "a name") == 0) {
        char name[16];
        pthread_getname_np(pthread_self(), name, sizeof name);
    } else if (strcmp(what, "the end of main") == 0) {
        pthread_exit(NULL);
    }
}

static atomic_int finished;

static void *finish(void *unused) {
    pthread_mutex_lock(&mutex);
    finished = 1;
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(int count, char **words) {
    pthread_key_create(&key, destroy);
    pthread_t threads[THREADS], detached;
    if (count > 1) {
        /* Whether it is done depends on the schedule where there is a second word. */
        pthread_create(&detached, NULL, finish, NULL);
        pthread_detach(detached);
        pthread_mutex_lock(&mutex);
        int is_finished = finished;
        pthread_mutex_unlock(&mutex);
        if (is_finished || count == 2) what_only_the_kernel_has(words[1]);
        return 0;
    }
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    pthread_create(&detached, NULL, nothing, NULL);
    pthread_detach(detached);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        CHECK(result == (void *)(intptr_t)(10 * (i + 1)));
    }
    CHECK(destroyed == 1 + 2 + 3);
    CHECK(prepared == 1);
    return wrong != 0;
}
