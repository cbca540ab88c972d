/* Two threads are alive, and one asks the kernel for something by addresses that lead nowhere, as programs do to find
 * out whether it knows a call (the standard library of Rust, by statx).  The answer is EFAULT. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wnonnull"

static sem_t is_over;

static void *wait_until_over(void *nothing) {
    sem_wait(&is_over);
    return nothing;
}

static void refused(long result) {
    assert(result == -1 && errno == EFAULT);
    errno = 0;
}

/* Where NULL means that there is none. */
static void ask_about_what_may_be_missing(void *nowhere, int poller) {
    refused(setitimer(ITIMER_REAL, nowhere, NULL));
    refused(select(1, nowhere, NULL, NULL, NULL));
    refused(pselect(1, NULL, NULL, NULL, NULL, nowhere));
    refused(epoll_pwait(poller, &(struct epoll_event){0}, 1, 0, nowhere));
    refused(syscall(SYS_futex, &(int){1}, FUTEX_WAIT, 1, nowhere, NULL, 0));
}

static void ask(void *nowhere, bool is_null) {
    char name[] = "/tmp/bad-addresses-XXXXXX";
    struct stat status;
    struct statx more;
    int file = mkstemp(name), timer = timerfd_create(CLOCK_MONOTONIC, 0), poller = epoll_create1(0);
    assert(file >= 0 && timer >= 0 && poller >= 0);
    unlink(name);
    refused(stat(nowhere, &status));
    refused(lstat(nowhere, &status));
    refused(fstatat(AT_FDCWD, nowhere, &status, 0));
    refused(statx(AT_FDCWD, nowhere, 0, STATX_BASIC_STATS, &more));
    refused(open(nowhere, O_RDONLY));
    refused(openat(AT_FDCWD, nowhere, O_RDONLY));
    refused(creat(nowhere, 0600));
    refused(fopen(nowhere, "r") ? 0 : -1);
    refused(access(nowhere, F_OK));
    refused(faccessat(AT_FDCWD, nowhere, F_OK, 0));
    refused(readlink(nowhere, name, 1));
    refused(unlink(nowhere));
    refused(unlinkat(AT_FDCWD, nowhere, 0));
    refused(remove(nowhere));
    refused(link("/tmp", nowhere));
    refused(symlink("/tmp", nowhere));
    refused(rename("/tmp", nowhere));
    refused(renameat(AT_FDCWD, nowhere, AT_FDCWD, nowhere));
    refused(mkdir(nowhere, 0700));
    refused(mkfifo(nowhere, 0700));
    refused(rmdir(nowhere));
    refused(truncate(nowhere, 0));
    refused(fstat(file, nowhere));
    refused(fcntl(file, F_SETLK, nowhere));
    refused(fcntl(file, F_SETLKW, nowhere));
    refused(semop(0, nowhere, 1));
    refused(semtimedop(0, nowhere, 1, nowhere));
    refused(nanosleep(nowhere, NULL));
    assert(clock_nanosleep(CLOCK_REALTIME, 0, nowhere, NULL) == EFAULT);
    refused(getitimer(ITIMER_REAL, nowhere));
    refused(timerfd_settime(timer, 0, nowhere, NULL));
    refused(timerfd_gettime(timer, nowhere));
    refused(syscall(SYS_futex, nowhere, FUTEX_WAIT, 0, NULL, NULL, 0));
    refused(syscall(SYS_futex, nowhere, FUTEX_WAKE, 1, NULL, NULL, 0));
    refused(getrandom(nowhere, 8, 0));
    refused(sigwaitinfo(nowhere, NULL));
    refused(sigtimedwait(nowhere, NULL, nowhere));
    refused(sigsuspend(nowhere));
    if (!is_null) ask_about_what_may_be_missing(nowhere, poller);
}

int main(void) {
    pthread_t other;
    sem_init(&is_over, 0, 0);
    pthread_create(&other, NULL, wait_until_over, NULL);
    void *nowhere[] = {NULL, (void *)16, (void *)-4096};
    for (int i = 0; i < 3; i++) ask(nowhere[i], i == 0);
    struct timespec time;
    assert(clock_gettime(999, &time) == -1 && errno == EINVAL);
    sem_post(&is_over);
    pthread_join(other, NULL);
    return 0;
}
