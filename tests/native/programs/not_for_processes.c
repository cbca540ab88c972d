/* A mutex in memory that two processes share, of which it says nothing: who waits for it is never woken; FIXED: it says so.
 * Each process has a second thread, as what a thread does that is alone may be no scheduling point. */
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t over;

static void *waits(void *unused) {
    sem_wait(&over);
    return unused;
}

static void uses(pthread_mutex_t *mutex) {
    pthread_t other;
    pthread_create(&other, NULL, waits, NULL);
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    sem_post(&over);
    pthread_join(other, NULL);
}

int main(void) {
    pthread_mutex_t *mutex =
        mmap(NULL, sizeof *mutex, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
#ifdef FIXED
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
#endif
    pthread_mutex_init(mutex, &attributes);
    sem_init(&over, 0, 0);
    pid_t child = fork();
    uses(mutex);
    if (child == 0) _exit(0);
    return waitpid(child, NULL, 0) != child;
}
