/* A bounded buffer whose producer takes the lock before it waits for room; FIXED: after. */
#include <pthread.h>
#include <semaphore.h>

static sem_t lock, room, filled;
static int buffer;

static void *producer(void *unused) {
    for (int i = 0; i < 2; i++) {
#ifdef FIXED
        sem_wait(&room);
        sem_wait(&lock);
#else
        sem_wait(&lock);
        sem_wait(&room);
#endif
        buffer = i;
        sem_post(&lock);
        sem_post(&filled);
    }
    return unused;
}

int main(void) {
    sem_init(&lock, 0, 1);
    sem_init(&room, 0, 1);
    sem_init(&filled, 0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, producer, NULL);
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        sem_wait(&filled);
        sem_wait(&lock);
        sum += buffer;
        sem_post(&lock);
        sem_post(&room);
    }
    pthread_join(thread, NULL);
    sem_destroy(&lock);
    return sum == 1 ? 0 : 2;
}
