/* Two threads look whether a value is there and set it; a third one only uses their lock, which no
   call has made: which of them comes to it first differs. */
#include <pthread.h>

struct settings {
    pthread_rwlock_t lock;
    int id;
};

static int get_or_set(struct settings *settings, int id) {
    pthread_rwlock_rdlock(&settings->lock);
    int found = settings->id;
    pthread_rwlock_unlock(&settings->lock);
    if (found)
        return found;
    pthread_rwlock_wrlock(&settings->lock);
    settings->id = id;
    pthread_rwlock_unlock(&settings->lock);
    return id;
}

static void *first(void *settings) { return (void *)(long)get_or_set(settings, 1); }
static void *second(void *settings) { return (void *)(long)get_or_set(settings, 2); }

static void *other(void *settings) {
    pthread_rwlock_wrlock(&((struct settings *)settings)->lock);
    pthread_rwlock_unlock(&((struct settings *)settings)->lock);
    return NULL;
}

int main(void) {
    struct settings settings = {PTHREAD_RWLOCK_INITIALIZER, 0};
    pthread_t threads[3];
    void *(*functions[])(void *) = {first, second, other};
    void *got[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, functions[i], &settings);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], &got[i]);
    return got[0] != got[1];
}
