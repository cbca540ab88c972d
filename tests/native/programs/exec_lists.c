/* Programs that are started with a list of arguments, in an environment without anything in it. */
#include <assert.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(int way) {
    char *own[] = {"CODE=3", NULL};
    if (way == 0) execl("/bin/sh", "sh", "-c", "/bin/sleep 30; exit 3", (char *)NULL);
    if (way == 1) execlp("sh", "sh", "-c", "/bin/sleep 30; exit 3", (char *)NULL);
    if (way == 2) execle("/bin/sh", "sh", "-c", "/bin/sleep 30; exit $CODE", (char *)NULL, own);
    _exit(1);
}

int main(void) {
    int status;
    clearenv();
    for (int way = 0; way < 3; way++) {
        pid_t child = fork();
        if (child == 0) become(way);
        /* Real time would be too long. */
        assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
    }
    return 0;
}
