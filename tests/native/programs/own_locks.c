/* A child with one thread locks a mutex of its own again and again; with -DSHARED both processes use it. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void use(pthread_mutex_t *mutex, int times) {
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(mutex);
        pthread_mutex_unlock(mutex);
    }
}

int main(void) {
    int kind = MAP_PRIVATE;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
#ifdef SHARED
    kind = MAP_SHARED;
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
#endif
    pthread_mutex_t *mutex =
        mmap(NULL, sizeof *mutex, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    pthread_mutex_init(mutex, &attributes);
    pid_t child = fork();
    use(mutex, child ? 1 : 50);
    if (!child) return 0;
    waitpid(child, NULL, 0);
    return 0;
}
