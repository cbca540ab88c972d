/* Threads say on which processors they may run, and are told the same. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
/* The processors that there are. */
static int first, last;

static int count(void) {
    cpu_set_t set;
    assert(!sched_getaffinity(0, sizeof set, &set));
    return CPU_COUNT(&set);
}

static cpu_set_t only(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return set;
}

static void *pinned(void *nothing) {
    assert(count() == 1 && sched_getcpu() == last);
    return nothing;
}

static void *pins_itself(void *nothing) {
    cpu_set_t s = only(last);
    assert(!pthread_setaffinity_np(pthread_self(), sizeof s, &s));
    return pinned(nothing);
}

static sem_t may_go_on;
static void *waits(void *nothing) {
    while (sem_wait(&may_go_on)) continue;
    assert(count() == 1 && sched_getcpu() == first);
    return nothing;
}

int main(void) {
    cpu_set_t all, set;
    assert(!sched_getaffinity(0, sizeof all, &all));
    for (last = CPU_SETSIZE - 1; !CPU_ISSET(last, &all); --last) continue;
    while (!CPU_ISSET(first, &all)) ++first;
    int n = CPU_COUNT(&all);
    pthread_t one, two;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    set = only(last);
    pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    pthread_create(&one, &attributes, pinned, NULL);
    pthread_create(&two, NULL, pins_itself, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(count() == n);
    CPU_ZERO(&set);
    assert(sched_setaffinity(0, sizeof set, &set) == -1 && errno == EINVAL);
    pthread_create(&one, NULL, waits, NULL);
    set = only(first);
    assert(!pthread_setaffinity_np(one, sizeof set, &set));
    CPU_ZERO(&set);
    assert(!pthread_getaffinity_np(one, sizeof set, &set) && CPU_COUNT(&set) == 1);
    sem_post(&may_go_on);
    pthread_join(one, NULL);
    set = only(last);
    assert(!sched_setaffinity(getpid(), sizeof set, &set));
    pthread_create(&one, NULL, pinned, NULL);
    pthread_join(one, NULL);
#ifdef FORKS
    pid_t child = fork();
    if (!child) {
        pinned(NULL);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert(!status);
#endif
    assert(!sched_setaffinity(gettid(), sizeof all, &all) && count() == n);
    assert(sched_getaffinity(0, 1, &set) == -1 && errno == EINVAL);
}
