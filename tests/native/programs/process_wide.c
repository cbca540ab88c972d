/* What all threads of a process share: each mode but the last is broken. */
#include <assert.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *mode;
static int guarded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t mine, theirs;
static int opened = -1;

static void count_mine(int number) { (void)number; mine++; }
static void count_theirs(int number) { (void)number; theirs++; }
static int is(const char *name) { return strcmp(mode, name) == 0; }

static void use(void) {
    if (is("folder")) {
        char path[64];
        assert(chdir("/usr") == 0 && getcwd(path, sizeof path));
        assert(strcmp(path, "/usr") == 0);
    } else if (is("path")) {
        assert(chdir("/usr") == 0 && access("bin", F_OK) == 0);
    } else if (is("mask")) {
        umask(022);
        assert(umask(022) == 022);
    } else if (is("environment")) {
        int was_there = getenv("BETWEEN") != NULL;
        assert(was_there == (getenv("BETWEEN") != NULL));
    } else if (is("locale")) {
        setlocale(LC_ALL, "C.UTF-8");
        assert(strcmp(setlocale(LC_ALL, NULL), "C.UTF-8") == 0);
    } else if (is("handler")) {
        signal(SIGUSR1, count_mine);
        raise(SIGUSR1);
        assert(mine == 1);
    } else if (is("inherited")) {
        opened = dup(0);
        fcntl(opened, F_SETFD, FD_CLOEXEC);
    }
}

static void disturb(void) {
    if (is("folder") || is("path")) assert(chdir("/proc") == 0);
    if (is("mask")) umask(077);
    if (is("environment")) setenv("BETWEEN", "1", 1);
    if (is("locale")) setlocale(LC_ALL, "C");
    if (is("handler")) signal(SIGUSR1, count_theirs);
    if (is("inherited")) {
        int status;
        pid_t child = fork();
        /* A program that it began would have it. */
        if (child == 0) _exit(opened >= 0 && fcntl(opened, F_GETFD) == 0);
        assert(waitpid(child, &status, 0) == child && status == 0);
    }
}

static void *run(void *what) {
    if (guarded) pthread_mutex_lock(&lock);
    ((void (*)(void))what)();
    if (guarded) pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t one, other;
    mode = arguments[1];
    guarded = count > 2;
    pthread_create(&one, NULL, run, (void *)use);
    pthread_create(&other, NULL, run, (void *)disturb);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
