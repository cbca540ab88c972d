/* A program in C that loads a plugin in C++, whose name is the argument. */
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>

static int (*once_made)(void);

static void *use(void *nothing) {
    assert(once_made() == 1);
    return nothing;
}

int main(int argc, char **argv) {
    assert(argc == 2);
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    assert(plugin);
    *(void **)&once_made = dlsym(plugin, "once_made");
    assert(once_made);
    pthread_t one, other;
    pthread_create(&one, NULL, use, NULL);
    pthread_create(&other, NULL, use, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
