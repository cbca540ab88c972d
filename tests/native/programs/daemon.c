/* A program that goes into the background, and says through a pipe when it is done there. */
#include <assert.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *work(void *unused) {
    pthread_mutex_lock(&mutex);
    done++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void in_background(int end) {
    pthread_t thread;
    assert(daemon(1, 1) == 0 && getsid(0) == getpid());
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    assert(done == 2 && write(end, "!", 1) == 1);
}

int main(void) {
    int ends[2], status;
    char byte;
    assert(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        in_background(ends[1]);
        return 0;
    }
    assert(waitpid(child, &status, 0) == child && status == 0);
    assert(read(ends[0], &byte, 1) == 1);
    return 0;
}
