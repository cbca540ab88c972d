/* Its first call of free is the C library's own, of the error that a missing library has left. */
#include <dlfcn.h>
#include <pthread.h>

static void *nothing(void *argument) { return argument; }

int main(void) {
    if (dlopen("no-such-library.so", RTLD_NOW)) return 1;
    if (dlopen("no-such-library-either.so", RTLD_NOW)) return 1;
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    return pthread_join(thread, NULL);
}
