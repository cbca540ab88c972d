/* Two threads take times apart with localtime at the same time; FIXED: with localtime_r, and each in
 * turn with gmtime. */
#include <assert.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int year_of(time_t time) {
#ifdef FIXED
    struct tm own;
    localtime_r(&time, &own);
    pthread_mutex_lock(&mutex);
    int year = gmtime(&time)->tm_year;
    pthread_mutex_unlock(&mutex);
    assert(year == own.tm_year);
    return year + 1900;
#else
    return localtime(&time)->tm_year + 1900;
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
    pthread_mutex_destroy(&mutex);
    return 0;
}
