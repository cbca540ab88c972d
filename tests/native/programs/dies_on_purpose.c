/* Tests an assertion in a child process, as frameworks for tests do, which has to die of it.  Two
 * threads come to two locks in opposite order, after that.  FIXED: one does. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;

static void *take(void *first) {
    pthread_mutex_t *second = first == &left ? &right : &left;
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
    return NULL;
}

static int dies(void (*of)(void)) {
    pid_t child = fork();
    if (child == 0) {
        of();
        _exit(0);
    }
    int status;
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void assertion(void) { assert(left.__align == 1); }

int main(void) {
    int failed = !dies(assertion) || !dies(abort);
#ifndef FIXED
    pthread_t first, second;
    pthread_create(&first, NULL, take, &left);
    pthread_create(&second, NULL, take, &right);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
#else
    take(&left);
#endif
    return failed;
}
