/* A process dies with a mutex that it shares with its parent: it is locked for ever; FIXED: it is
 * robust, and the next owner is told.  How it dies is the argument: exit, kill or exec. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void dies(const char *how, pthread_mutex_t *mutex) {
    pthread_mutex_lock(mutex);
    if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "exec")) execlp("true", "true", (char *)NULL);
    _exit(0);
}

int main(int count, char **arguments) {
    pthread_mutex_t *mutex =
        mmap(NULL, sizeof *mutex, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
#ifdef FIXED
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
#endif
    pthread_mutex_init(mutex, &attributes);
    pid_t child = fork();
    if (child == 0) dies(count > 1 ? arguments[1] : "exit", mutex);
    int result = pthread_mutex_lock(mutex);
    if (result == EOWNERDEAD) pthread_mutex_consistent(mutex);
    else assert(result == 0);
    pthread_mutex_unlock(mutex);
    return waitpid(child, NULL, 0) != child;
}
