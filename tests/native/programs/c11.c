/* Correct: a queue with the threads of C11. */
#include <stdlib.h>
#include <threads.h>
#include <time.h>

static mtx_t mutex;
static cnd_t changed;
static once_flag once = ONCE_FLAG_INIT;
static int items, initialised;

static void initialise(void) { initialised++; }

static int consumer(void *unused) {
    (void)unused;
    int taken = 0;
    call_once(&once, initialise);
    while (taken < 2) {
        mtx_lock(&mutex);
        while (!items) cnd_wait(&changed, &mutex);
        taken += items;
        items = 0;
        mtx_unlock(&mutex);
    }
    return taken;
}

int main(void) {
    thrd_t thread;
    int taken = 0;
    mtx_init(&mutex, mtx_timed);
    cnd_init(&changed);
    if (thrd_create(&thread, consumer, NULL) != thrd_success) return 2;
    call_once(&once, initialise);
    for (int i = 0; i < 2; i++) {
        mtx_lock(&mutex);
        items++;
        cnd_signal(&changed);
        mtx_unlock(&mutex);
        thrd_yield();
    }
    thrd_join(thread, &taken);
    struct timespec now, until;
    timespec_get(&until, TIME_UTC);
    until.tv_sec += 1;
    mtx_lock(&mutex);
    int result;
    while ((result = cnd_timedwait(&changed, &mutex, &until)) == thrd_success) continue;
    if (result != thrd_timedout) return 3;
    mtx_unlock(&mutex);
    thrd_sleep(&(struct timespec){2, 0}, NULL);
    timespec_get(&now, TIME_UTC);
    if (now.tv_sec < until.tv_sec) return 4;
    if (mtx_trylock(&mutex) != thrd_success) return 5;
    mtx_unlock(&mutex);
    cnd_destroy(&changed);
    mtx_destroy(&mutex);
    return taken == 2 && initialised == 1 ? 0 : 6;
}
