/* What a program loads while it runs; by itself the program that does so. */
#include <pthread.h>
#include <stdlib.h>

#ifdef PLUGIN

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;

static void take_both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

void *left_first(void *unused) {
    take_both(&left, &right);
    return unused;
}

void *right_first(void *unused) {
    take_both(&right, &left);
    return unused;
}

#else

#include <dlfcn.h>

typedef void *(*routine)(void *);

int main(int count, char **arguments) {
    void *plugin = dlopen(arguments[count - 1], RTLD_NOW);
    if (!plugin) abort();
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, (routine)dlsym(plugin, "left_first"), NULL);
    pthread_create(&threads[1], NULL, (routine)dlsym(plugin, "right_first"), NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}

#endif
