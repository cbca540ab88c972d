/* A consumer that waits with `if`: nobody takes its item from it, but POSIX lets the wait end by itself.
 * FIXED: `while`.  With an argument the wait has a timeout. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items;
static int has_timeout;

static int wait_for_item(void) {
    struct timespec end;
    if (!has_timeout) return pthread_cond_wait(&filled, &mutex);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 100;
    return pthread_cond_timedwait(&filled, &mutex, &end);
}

static void *consumer(void *unused) {
    int error = 0;
    pthread_mutex_lock(&mutex);
#ifdef FIXED
    while (items == 0 && !error)
#else
    if (items == 0)
#endif
        error = wait_for_item();
    assert(items > 0 || error == ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(int count, char **arguments) {
    (void)arguments;
    has_timeout = count > 1;
    pthread_t thread;
    pthread_create(&thread, NULL, consumer, NULL);
    pthread_mutex_lock(&mutex);
    items = 1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    return 0;
}
