/* Threads that may be cancelled anywhere (PTHREAD_CANCEL_ASYNCHRONOUS), and what comes after. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t semaphore;
static const char *mode;
static int reached, cleaned;

static int is(const char *name) { return strcmp(mode, name) == 0; }

static void clean(void *unused) {
    (void)unused;
    cleaned = reached;
}

/* Whoever is cancelled already waits as ever. */
static void clean_slowly(void *unused) {
    (void)unused;
    sem_wait(&semaphore);
    cleaned = reached;
}

static void between(void) {
    int before;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    assert(before == PTHREAD_CANCEL_DEFERRED);
    reached = 1;
    pthread_setcanceltype(before, &before);
    assert(before == PTHREAD_CANCEL_ASYNCHRONOUS);
    reached = 2;
}

static void *run(void *unused) {
    if (is("computes")) {
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
        for (;;) __asm__ volatile("");
    } else if (is("locks") || is("waits")) {
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    } else if (is("between")) {
        pthread_cleanup_push(clean, NULL);
        between();
        pthread_cleanup_pop(0);
    } else if (is("disabled")) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        reached = 1;
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
        reached = 2;
    } else if (is("cleans")) {
        pthread_cleanup_push(clean_slowly, NULL);
        pause();
        pthread_cleanup_pop(0);
    }
    return unused;
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    mode = arguments[1];
    sem_init(&semaphore, 0, 0);
    if (is("waits")) pthread_mutex_lock(&lock);
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, run, NULL);
    if (is("computes")) usleep(10);
    pthread_cancel(thread);
    if (is("cleans")) {
        usleep(10);
        reached = 1;
        sem_post(&semaphore);
    }
    pthread_join(thread, &result);
    int cancelled = result == PTHREAD_CANCELED;
    if (is("computes") || is("waits")) assert(cancelled);
    if (is("between")) assert(cancelled ? reached < 2 && cleaned == reached : reached == 2);
    /* With a third argument: that it ends in the midst of it, which it may. */
    if (is("between") && count > 2) assert(cleaned != 1);
    if (is("disabled")) assert(cancelled ? reached < 2 : reached == 2);
    if (is("disabled") && count > 2) assert(reached != 1);
    if (is("cleans")) assert(cleaned == 1);
    return 0;
}
