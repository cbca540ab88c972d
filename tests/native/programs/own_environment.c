/* A program that, as bash does, has functions of its own for its environment; linked with -rdynamic, so
 * that libraries use them, too.  Its child must not take itself for what its parent is. */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int unsetenv(const char *name) {
    (void)name;
    return 0;
}

static void *nothing(void *unused) { return unused; }

int main(int argc, char **argv, char **environment) {
    pthread_t thread;
    int status;
    if (argc > 1) return 7;
    for (char **at = environment; *at; at++)
        if (strncmp(*at, "BOHRBUG_S", 9) == 0 && strncmp(*at, "BOHRBUG_SEGMENT", 15) != 0) return 2;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    if (fork() == 0) {
        execve("/proc/self/exe", (char *[]){argv[0], "child", NULL}, environment);
        _exit(3);
    }
    return wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 1;
}
