/* Memory that two processes share, and a number in it that both count up; with a second argument under a lock. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared {
    pthread_mutex_t lock;
    int number;
};

static void ended(void) {}

int main(int count, char **arguments) {
    int guarded = count > 2, segment = -1;
    struct shared *shared;
    pthread_mutexattr_t attributes;
    /* Programs that are linked with the sanitizer find this function there. */
    atexit(ended);
    if (strcmp(arguments[1], "mmap") == 0) {
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    } else {
        segment = shmget(IPC_PRIVATE, sizeof *shared, 0600 | IPC_CREAT);
        shared = shmat(segment, NULL, 0);
        shmctl(segment, IPC_RMID, NULL);
    }
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &attributes);
    int is_child = fork() == 0;
    if (guarded) pthread_mutex_lock(&shared->lock);
    int number = shared->number;
    shared->number = number + 1;
    if (guarded) pthread_mutex_unlock(&shared->lock);
    if (is_child) _exit(0);
    wait(NULL);
    assert(shared->number == 2);
    return 0;
}
