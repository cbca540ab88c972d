/* How much a scheduling point costs: `points same N` locks and unlocks a mutex N times in one thread,
 * `points among N` does so while one thread waits for another mutex and a third could run,
 * `points turns N` does so in two threads, each with a mutex of its own, and
 * `points hand N` lets two threads wake each other N times.  Prints nanoseconds of processor time for each
 * operation, by the kernel's own clock, as the C library's are virtual under control. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;
static long rounds;

static int64_t now(void) {
    struct timespec time;
    long result;
    /* Not through the C library, whose clock is virtual here. */
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_clock_gettime), "D"(CLOCK_PROCESS_CPUTIME_ID), "S"(&time)
                     : "rcx", "r11", "memory");
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void *play(void *argument) {
    int own = (int)(intptr_t)argument;
    for (long i = 0; i < rounds; i++) {
        pthread_mutex_lock(&mutex);
        while (turn != own) pthread_cond_wait(&changed, &mutex);
        turn = !own;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *wait_for_it(void *held) {
    pthread_mutex_lock(held);
    pthread_mutex_unlock(held);
    return NULL;
}

static void *lock_own(void *own) {
    for (long i = 0; i < rounds; i++) {
        pthread_mutex_lock(own);
        pthread_mutex_unlock(own);
    }
    return NULL;
}

static void in_turns(void) {
    pthread_mutex_t others = PTHREAD_MUTEX_INITIALIZER;
    pthread_t other;
    pthread_create(&other, NULL, lock_own, &others);
    int64_t before = now();
    lock_own(&mutex);
    printf("%.1f ns for each operation in turns\n", (double)(now() - before) / (double)(4 * rounds));
    pthread_join(other, NULL);
}

static void lock_and_unlock(const char *what) {
    int64_t before = now();
    for (long i = 0; i < rounds; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    printf("%.1f ns for each operation%s\n", (double)(now() - before) / (double)(2 * rounds), what);
}

static void among_others(void) {
    pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    pthread_t waits, could_run;
    pthread_mutex_lock(&held);
    pthread_create(&waits, NULL, wait_for_it, &held);
    sched_yield();
    pthread_create(&could_run, NULL, wait_for_it, &mutex);
    lock_and_unlock(" among others");
    pthread_mutex_unlock(&held);
    pthread_join(waits, NULL);
    pthread_join(could_run, NULL);
}

int main(int count, char **words) {
    rounds = count > 2 ? atol(words[2]) : 1000;
    int64_t before = now();
    if (count > 1 && strcmp(words[1], "hand") == 0) {
        pthread_t other;
        pthread_create(&other, NULL, play, (void *)1);
        play((void *)0);
        pthread_join(other, NULL);
        printf("%.1f ns for each hand-over\n", (double)(now() - before) / (double)(2 * rounds));
        return 0;
    }
    if (count > 1 && strcmp(words[1], "among") == 0) among_others();
    else if (count > 1 && strcmp(words[1], "turns") == 0) in_turns();
    else lock_and_unlock("");
    return 0;
}
