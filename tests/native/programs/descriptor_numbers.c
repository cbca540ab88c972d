/* Descriptors that are used after they were closed, when another task may have got their number.
 *
 * descriptor_numbers twice    one task closes a file twice, another one opens and writes
 * descriptor_numbers after    one task closes, one writes to what was closed, one opens a file that has to stay empty
 * descriptor_numbers socket   like the first, but the other task makes a pair of sockets
 * descriptor_numbers between  one task closes, another one writes twice, and both or none should succeed
 * descriptor_numbers once     each task opens, writes and closes for itself: correct
 *
 * Exits with 1 if a task has met what is not its own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int shared;
static const char *mode;

static int is(const char *name) { return strcmp(mode, name) == 0; }

static void *closes(void *argument) {
    close(shared);
    if (!is("after") && !is("between")) close(shared);
    return argument;
}

static void *writes(void *argument) {
    /* To a file that was closed it fails, which this task does not mind. */
    (void)!write(shared, "x", 1);
    return argument;
}

static void *writes_twice(void *argument) {
    ssize_t first = write(shared, "x", 1);
    return write(shared, "x", 1) == first ? NULL : argument;
}

static void *opens(void *argument) {
    if (is("socket")) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || write(ends[0], "x", 1) != 1) return argument;
        close(ends[0]);
        close(ends[1]);
        return NULL;
    }
    int fd = open("/dev/null", O_WRONLY);
    if (write(fd, "x", 1) != 1) return argument;
    close(fd);
    return NULL;
}

static void *opens_empty(void *argument) {
    char name[] = "descriptor_numbers_XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    *(int *)argument = fd;
    return NULL;
}

int main(int argc, char **argv) {
    mode = argc > 1 ? argv[1] : "twice";
    signal(SIGPIPE, SIG_IGN);
    shared = open("/dev/null", O_WRONLY);
    pthread_t threads[3];
    void *result;
    int wrong = 0, empty = -1;
    if (is("after")) {
        pthread_create(&threads[0], NULL, writes, NULL);
        pthread_create(&threads[1], NULL, closes, NULL);
        pthread_create(&threads[2], NULL, opens_empty, &empty);
        for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
        struct stat status;
        wrong = fstat(empty, &status) == 0 && status.st_size > 0;
    } else {
        pthread_create(&threads[0], NULL, is("once") ? opens : closes, &threads);
        pthread_create(&threads[1], NULL, is("between") ? writes_twice : opens, &threads);
        for (int i = 0; i < 2; i++) {
            pthread_join(threads[i], &result);
            wrong |= i == 1 && result;
        }
    }
    return wrong;
}
