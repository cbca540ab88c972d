/* As root: a child becomes somebody else and executes a shell, whose children execute programs again. */
#include <sys/wait.h>
#include <unistd.h>

#define SOMEBODY 65534

int main(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (setgid(SOMEBODY) || setuid(SOMEBODY)) _exit(1);
        execl("/bin/sh", "sh", "-c", "/bin/echo one | /bin/cat > /dev/null; /bin/sh -c 'exit 7'", NULL);
        _exit(2);
    }
    if (waitpid(child, &status, 0) != child) return 3;
    return !WIFEXITED(status) || WEXITSTATUS(status) != 7;
}
