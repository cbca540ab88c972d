/* A process forks while another thread may hold a mutex, and the child wants it; FIXED: the
 * forking thread holds it. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
#ifdef FIXED
    pthread_mutex_lock(&mutex);
#endif
    pid_t child = fork();
    if (child == 0) {
#ifndef FIXED
        pthread_mutex_lock(&mutex);
#endif
        pthread_mutex_unlock(&mutex);
        _exit(0);
    }
#ifdef FIXED
    pthread_mutex_unlock(&mutex);
#endif
    waitpid(child, NULL, 0);
    pthread_join(thread, NULL);
    return 0;
}
