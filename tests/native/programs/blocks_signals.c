/* Makes a system call that leaves something behind while all signals are blocked. */
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *with_lock(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_t thread;
    pthread_create(&thread, NULL, with_lock, NULL);
    with_lock(NULL);
    pthread_join(thread, NULL);
    /* Not by a function whose wrapper leaves some of them out. */
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, 8);
    return syscall(SYS_umask, 022) < 0;
}
