/* Is killed by a signal, and leaves a child behind that waits for ever. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
    int ready[2];
    char byte;
    if (count != 2 || pipe(ready)) return 2;
    if (fork() == 0) {
        FILE *file = fopen(arguments[1], "a");
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
        if (write(ready[1], "x", 1) != 1) return 2;
        for (;;) pause();
    }
    if (read(ready[0], &byte, 1) != 1) return 2;
    abort();
}
