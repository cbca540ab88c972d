/* Each of two guests looks for a free seat and takes it a moment later; FIXED: at once. */
#include <assert.h>
#include <pthread.h>

#define SEATS 1

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int taken, seated;

static void *sit_down(void *unused) {
#ifdef FIXED
    pthread_mutex_lock(&mutex);
#endif
    if (taken < SEATS) {
        taken = 1;
#ifndef FIXED
        pthread_mutex_lock(&mutex);
#endif
        seated++;
        assert(seated <= SEATS);
#ifndef FIXED
        pthread_mutex_unlock(&mutex);
#endif
    }
#ifdef FIXED
    pthread_mutex_unlock(&mutex);
#endif
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, sit_down, NULL);
    pthread_create(&second, NULL, sit_down, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
