/* The parent keeps the writing end of the pipe that its child reads to the end; FIXED: closed. */
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int ends[2];
    char byte;
    if (pipe(ends) < 0) return 2;
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        while (read(ends[0], &byte, 1) == 1) continue;
        _exit(0);
    }
    close(ends[0]);
    if (write(ends[1], "x", 1) != 1) return 3;
#ifdef FIXED
    close(ends[1]);
#endif
    waitpid(child, NULL, 0);
    return 0;
}
