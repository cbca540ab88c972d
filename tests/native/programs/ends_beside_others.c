/* The process ends while another thread may still run. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void ended(void) {}

static void *run(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(int count, char **arguments) {
    pthread_t thread;
    (void)arguments;
    /* A timer is no thread. */
    if (count > 2) signal(SIGALRM, SIG_IGN), alarm(1000);
    atexit(ended);
    pthread_create(&thread, NULL, run, NULL);
    if (count > 1) pthread_join(thread, NULL);
    else pthread_detach(thread);
    return 0;
}
