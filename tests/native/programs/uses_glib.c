/* Uses locks that are made of futexes: two updates, or a flag that is waited for. */
#include <assert.h>
#include <pthread.h>
#include <string.h>

void g_mutex_lock(int *mutex);
int g_mutex_trylock(int *mutex);
void g_mutex_unlock(int *mutex);
void g_cond_wait(int *condition, int *mutex);
void g_cond_signal(int *condition);
void own_lock(int *mutex);
void own_unlock(int *mutex);

static int mutex, condition, value;
static const char *mode;

static int is(const char *name) { return strcmp(mode, name) == 0; }

static void *update(void *unused) {
    if (is("own")) {
        own_lock(&mutex);
        int before = value;
        own_unlock(&mutex);
        own_lock(&mutex);
        value = before + 1;
        own_unlock(&mutex);
        return unused;
    }
    if (is("tries")) while (!g_mutex_trylock(&mutex));
    else g_mutex_lock(&mutex);
    int before = value;
    if (is("lost")) {
        g_mutex_unlock(&mutex);
        g_mutex_lock(&mutex);
    }
    value = before + 1;
    g_mutex_unlock(&mutex);
    return unused;
}

static void *wait_for_it(void *unused) {
    g_mutex_lock(&mutex);
    if (is("forgets")) {
        int there = value;
        g_mutex_unlock(&mutex);
        g_mutex_lock(&mutex);
        if (!there) g_cond_wait(&condition, &mutex);
    } else {
        while (!value) g_cond_wait(&condition, &mutex);
    }
    g_mutex_unlock(&mutex);
    return unused;
}

static void *set_it(void *unused) {
    g_mutex_lock(&mutex);
    value = 1;
    g_cond_signal(&condition);
    g_mutex_unlock(&mutex);
    return unused;
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    mode = arguments[1];
    int waits = is("forgets") || is("waits");
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, waits ? wait_for_it : update, NULL);
    pthread_create(&threads[1], NULL, waits ? set_it : update, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert(value == (waits ? 1 : 2));
    return 0;
}
