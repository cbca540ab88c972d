/* Locks that are taken before a fork and let go of after it on both sides, as pthread_atfork is meant;
 * another thread uses them at the same time. */
#include <assert.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int uses;

static void take(void) { pthread_mutex_lock(&mutex); }

static void let_go(void) { pthread_mutex_unlock(&mutex); }

static void *use(void *unused) {
    for (int i = 0; i < 2; i++) {
        take();
        uses++;
        let_go();
    }
    return unused;
}

static void ask(void) { pthread_atfork(take, let_go, let_go); }

#ifdef EARLY
/* As libraries do whose constructors come before that of the shim. */
__attribute__((section(".preinit_array"), used)) static void (*first)(void) = ask;
#endif

int main(void) {
    pthread_t thread;
    int status;
#ifndef EARLY
    ask();
#endif
    pthread_create(&thread, NULL, use, NULL);
    pid_t child = fork();
    if (child == 0) {
        use(NULL);
        _exit(0);
    }
    pthread_join(thread, NULL);
    assert(waitpid(child, &status, 0) == child && status == 0 && uses == 2);
    return 0;
}
