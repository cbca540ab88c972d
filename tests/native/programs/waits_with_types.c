/* Waiting for a condition variable with mutexes that are not plain: the argument says which.
 *
 * One that is locked twice stays locked, so that nobody can signal; one that checks for errors lets nobody
 * wait who has not locked it. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock;
static pthread_cond_t said = PTHREAD_COND_INITIALIZER;
static int is_said;

static void *says(void *unused) {
    pthread_mutex_lock(&lock);
    is_said = 1;
    pthread_cond_signal(&said);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void waits(int times) {
    pthread_t thread;
    for (int i = 0; i < times; i++) assert(pthread_mutex_lock(&lock) == 0);
    pthread_create(&thread, NULL, says, NULL);
    while (!is_said) assert(pthread_cond_wait(&said, &lock) == 0);
    for (int i = 0; i < times; i++) assert(pthread_mutex_unlock(&lock) == 0);
    pthread_join(thread, NULL);
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    pthread_mutexattr_t type;
    pthread_mutexattr_init(&type);
    int is_checked = !strcmp(arguments[1], "checked");
    pthread_mutexattr_settype(&type,
                              is_checked ? PTHREAD_MUTEX_ERRORCHECK : PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &type);
    if (is_checked) assert(pthread_cond_wait(&said, &lock) == EPERM);
    else waits(!strcmp(arguments[1], "twice") ? 2 : 1);
    return 0;
}
