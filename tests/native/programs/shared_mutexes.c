/* Two processes take two mutexes in shared memory in opposite orders; FIXED: in the same one. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared {
    pthread_mutex_t left, right;
};

static void both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

int main(void) {
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->left, &attributes);
    pthread_mutex_init(&shared->right, &attributes);
    pid_t child = fork();
    if (child == 0) {
#ifdef FIXED
        both(&shared->left, &shared->right);
#else
        both(&shared->right, &shared->left);
#endif
        _exit(0);
    }
    both(&shared->left, &shared->right);
    int status;
    if (waitpid(child, &status, 0) != child) return 2;
    return WEXITSTATUS(status);
}
