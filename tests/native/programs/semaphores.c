/* Correct: named and unnamed semaphores, and sleeping in virtual time. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static sem_t semaphore, *named;

static void *poster(void *unused) {
    sleep(3600);
    sem_post(&semaphore);
    sem_post(named);
    return unused;
}

int main(void) {
    char name[64];
    int value;
    snprintf(name, sizeof name, "/bohrbug-test-%d", (int)getpid());
    named = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    if (named == SEM_FAILED) return 2;
    sem_unlink(name);
    sem_init(&semaphore, 0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, poster, NULL);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    while (sem_timedwait(&semaphore, &until) != 0) {
        if (errno != ETIMEDOUT) return 4;
        until.tv_sec += 600;
    }
    sem_wait(named);
    pthread_join(thread, NULL);
    sem_getvalue(&semaphore, &value);
    sem_close(named);
    sem_destroy(&semaphore);
    return value;
}
