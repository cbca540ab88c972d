/* A program that was started anew waits at a barrier in memory that it shares with its parent, which waits for one more
 * than there are; FIXED: for as many. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef FIXED
#define COUNT 2
#else
#define COUNT 3
#endif

static int waits(pthread_barrier_t *barrier) {
    int result = pthread_barrier_wait(barrier);
    return result != 0 && result != PTHREAD_BARRIER_SERIAL_THREAD;
}

int main(int count, char **arguments) {
    int file = count > 1 ? atoi(arguments[1]) : memfd_create("barrier", 0);
    if (count == 1 && ftruncate(file, sizeof(pthread_barrier_t)) < 0) return 1;
    pthread_barrier_t *barrier =
        mmap(NULL, sizeof *barrier, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (count > 1) return waits(barrier);
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(barrier, &attributes, COUNT);
    char number[16];
    snprintf(number, sizeof number, "%d", file);
    pid_t child = fork();
    if (child == 0) {
        execl(arguments[0], arguments[0], number, (char *)NULL);
        _exit(2);
    }
    int status = 1, failed = waits(barrier);
    waitpid(child, &status, 0);
    return failed || status;
}
