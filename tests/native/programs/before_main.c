/* What happens before main is part of every execution, however it gets there. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t semaphore;
static int number, calls;
static int *counter = &number;
static char read_before[5], read_after[5];
static int ends[2] = {-1, -1};
static timer_t timer;

static void count_call(void) { calls++; }
static void on_signal(int number) { calls += number == SIGUSR1; }

__attribute__((constructor)) static void before_main(void) {
#ifdef PRINTS
    printf("buffered\n");
    if (write(1, "early\n", 6) + write(2, "error\n", 6) != 12) abort();
#endif
#ifdef READS
    if (read(0, read_before, 4) != 4) abort();
#endif
#ifdef SHARES_MEMORY
    counter = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
#endif
#ifdef SHARES_PIPE
    if (pipe(ends)) abort();
#endif
#ifdef HANDLES
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
#endif
#ifdef IGNORES_CHILDREN
    signal(SIGCHLD, SIG_IGN);
#endif
#ifdef SETS_TIMER
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval soon = {.it_value = {.tv_usec = 20000}};
    setitimer(ITIMER_REAL, &soon, NULL);
#endif
#ifdef MAKES_TIMER
    if (timer_create(CLOCK_MONOTONIC, NULL, &timer)) abort();
#endif
#ifdef MINDS_FORKS
    pthread_atfork(count_call, count_call, count_call);
#endif
    (void)count_call;
    (void)on_signal;
    (void)timer;
}

static void *work(void *is_second) {
    pthread_mutex_lock(&mutex);
    ++*counter;
    if (ends[1] >= 0 && write(ends[1], "x", 1) != 1) abort();
    if (is_second) number += 10 * *counter;
    pthread_mutex_unlock(&mutex);
#ifdef HANDLES
    if (is_second && sem_wait(&semaphore)) number += errno == EINTR ? 100 : 200;
#endif
    return NULL;
}

int main(void) {
    pthread_t thread;
    int waiting = 0;
    sem_init(&semaphore, 0, 0);
#ifdef SETS_TIMER
    pause();
#endif
#ifdef MAKES_TIMER
    if (timer_delete(timer)) abort();
#endif
    pthread_create(&thread, NULL, work, &thread);
    work(NULL);
#ifdef HANDLES
    usleep(1000);
    pthread_kill(thread, SIGUSR1);
    usleep(1000);
    sem_post(&semaphore);
#endif
    pthread_join(thread, NULL);
#ifdef LEAVES_SOMETHING
    if (pipe((int[2]){0})) abort();
#endif
    if (ends[0] >= 0) ioctl(ends[0], FIONREAD, &waiting);
#ifdef READS
    if (read(0, read_after, 4) != 4) abort();
#endif
    printf("%d %d %d %d %s %s\n", number, *counter, calls, waiting, read_before, read_after);
    return number & 1;
}
