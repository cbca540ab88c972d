/* A mutex in memory that two processes share, of which it says nothing: who waits for it is never woken; FIXED: it says so. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    pthread_mutex_t *mutex =
        mmap(NULL, sizeof *mutex, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
#ifdef FIXED
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
#endif
    pthread_mutex_init(mutex, &attributes);
    pid_t child = fork();
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    if (child == 0) _exit(0);
    return waitpid(child, NULL, 0) != child;
}
