/* Calls functions of which the C library has several versions, and says what came of it. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;
static int is_there, are_two;

static void *other(void *nothing) {
    pthread_mutex_lock(&mutex);
    is_there = 1;
    pthread_cond_signal(&condition);
    while (!are_two) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return nothing;
}

/* The oldest condition variable is a pointer, and waits for no clock but that of the day. */
static void conditions(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    struct {
        pthread_cond_t condition;
        char guard[8];
    } guarded;
    memset(guarded.guard, 'x', sizeof guarded.guard);
    pthread_cond_init(&guarded.condition, &attributes);
    pthread_cond_init(&condition, &attributes);
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    pthread_mutex_lock(&mutex);
    while (!is_there) pthread_cond_wait(&condition, &mutex);
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int result = pthread_cond_timedwait(&guarded.condition, &mutex, &until);
    are_two = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    printf("timed wait: %s, %.8s\n", strerror(result), guarded.guard);
    printf("destroy: %d\n", pthread_cond_destroy(&condition));
    printf("destroy: %d\n", pthread_cond_destroy(&guarded.condition));
}

static void processors(void) {
    struct {
        cpu_set_t set;
        char guard[8];
    } guarded;
    memset(&guarded, 'x', sizeof guarded);
    printf("sched_getaffinity: %d", sched_getaffinity(0, sizeof guarded.set, &guarded.set));
    int count = CPU_COUNT(&guarded.set);
    printf(", some: %d, %.8s\n", count > 0 && count < CPU_SETSIZE, guarded.guard);
    printf("pthread_getaffinity_np: %d", pthread_getaffinity_np(pthread_self(), sizeof guarded.set, &guarded.set));
    printf(", as before: %d\n", CPU_COUNT(&guarded.set) == count);
    printf("too small: %d\n", sched_getaffinity(0, 0, &guarded.set));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, sizeof guarded.set, &guarded.set);
    cpu_set_t again;
    printf("pthread_attr_getaffinity_np: %d", pthread_attr_getaffinity_np(&attributes, sizeof again, &again));
    printf(", equal: %d\n", CPU_EQUAL(&again, &guarded.set));
    pthread_attr_destroy(&attributes);
}

/* Of a link that leads nowhere only the newest one says that it is there. */
static void patterns(void) {
    char folder[] = "/tmp/versions-XXXXXX", path[64];
    if (!mkdtemp(folder)) abort();
    snprintf(path, sizeof path, "%s/dangling", folder);
    if (symlink("nowhere", path)) abort();
    glob_t found;
    printf("glob: %d", glob(path, 0, NULL, &found));
    printf(", found: %zu\n", found.gl_pathc);
    globfree(&found);
    glob64_t found64;
    printf("glob64: %d", glob64(path, 0, NULL, &found64));
    printf(", found: %zu\n", found64.gl_pathc);
    globfree64(&found64);
    unlink(path);
    char *real = realpath(folder, NULL);
    printf("realpath: %s\n", real && strcmp(real, folder) == 0 ? "right" : strerror(errno));
    free(real);
    rmdir(folder);

    regex_t expression;
    regcomp(&expression, "b", 0);
    regmatch_t match = {.rm_so = 2, .rm_eo = 4};
    printf("regexec: %d", regexec(&expression, "babb", 1, &match, REG_STARTEND));
    printf(", at %d\n", (int)match.rm_so);
    regfree(&expression);
}

/* For the newest one the whole buffer is the file. */
static void streams(void) {
    char text[16] = "abc";
    FILE *stream = fmemopen(text, sizeof text, "r+");
    fseek(stream, 0, SEEK_END);
    printf("fmemopen: ends at %ld\n", ftell(stream));
    fclose(stream);
}

/* The oldest ones give a file without an interpreter to the shell. */
static void children(void) {
    char path[] = "/tmp/versions-XXXXXX";
    int fd = mkstemp(path);
    dprintf(fd, "exit 3\n");
    fchmod(fd, 0700);
    close(fd);
    char *words[] = {path, NULL};
    pid_t child = 0;
    int result = posix_spawn(&child, path, NULL, NULL, words, environ);
    int status = -1;
    if (!result) waitpid(child, &status, 0);
    printf("posix_spawn: %s, %d\n", strerror(result), status);
    result = posix_spawnp(&child, path, NULL, NULL, words, environ);
    if (!result) waitpid(child, &status, 0);
    printf("posix_spawnp: %s, %d\n", strerror(result), status);
    unlink(path);
}

/* The oldest timers are small numbers. */
static void signals(void) {
    printf("pthread_kill: %d\n", pthread_kill(pthread_self(), 0));
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    printf("timer_create: %d\n", timer_create(CLOCK_MONOTONIC, &event, &timer));
    struct itimerspec times = {.it_value = {.tv_sec = 1000}};
    printf("timer_settime: %d\n", timer_settime(timer, 0, &times, NULL));
    printf("timer_gettime: %d", timer_gettime(timer, &times));
    printf(", left: %d\n", times.it_value.tv_sec >= 900);
    printf("timer_getoverrun: %d\n", timer_getoverrun(timer));
    printf("timer_delete: %d\n", timer_delete(timer));
}

static void at_quick_exit_do(void) { printf("quick_exit\n"), fflush(stdout); }

int main(void) {
    conditions();
    processors();
    patterns();
    streams();
    children();
    signals();
    printf("lgamma: %.3f %.3f %.3Lf\n", lgamma(5), lgammaf(6), lgammal(7));
    at_quick_exit(at_quick_exit_do);
    quick_exit(0);
}
