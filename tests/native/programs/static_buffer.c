/* A lock guards the call of gmtime, but not what it gives back; FIXED: that, too. */
#include <assert.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int year_of(time_t time) {
    pthread_mutex_lock(&mutex);
    const struct tm *parts = gmtime(&time);
#ifdef FIXED
    int year = parts->tm_year;
    pthread_mutex_unlock(&mutex);
    return year + 1900;
#else
    pthread_mutex_unlock(&mutex);
    return parts->tm_year + 1900;
#endif
}

static void *early(void *unused) {
    (void)unused;
    assert(year_of(20 * 365 * 86400L) == 1989);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, early, NULL);
    assert(year_of(40 * 365 * 86400L) == 2009);
    pthread_join(thread, NULL);
    return 0;
}
