/* Opening FIFOs, by two processes; with "crosswise" each waits for the other for ever.  With "reopened" both
 * take a stream that was open before. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char there[200], back[200];

static const char *how;

static FILE *stream_on(const char *path, const char *mode) {
    if (strcmp(how, "reopened")) return fopen(path, mode);
    FILE *stream = fopen("/dev/null", mode);
    return stream ? freopen(path, mode, stream) : NULL;
}

static void write_to(const char *path, const char *text, int as_stream) {
    if (as_stream) {
        FILE *stream = stream_on(path, "w");
        if (!stream || fputs(text, stream) < 0 || fclose(stream)) exit(2);
        return;
    }
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, text, strlen(text)) < 0 || close(fd) < 0) exit(3);
}

static void read_from(const char *path, const char *expected, int as_stream) {
    char text[100] = "";
    if (as_stream) {
        FILE *stream = stream_on(path, "r");
        if (!stream || !fgets(text, sizeof text, stream) || fclose(stream)) exit(4);
    } else {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fcntl(fd, F_GETFL) & O_NONBLOCK) exit(5);
        size_t length = 0;
        ssize_t more;
        while ((more = read(fd, text + length, sizeof text - length)) > 0) length += (size_t)more;
        if (more < 0 || close(fd) < 0) exit(6);
    }
    if (strcmp(text, expected)) exit(7);
}

int main(int count, char **words) {
    if (count < 3) return 1;
    how = words[1];
    int crosswise = strcmp(how, "crosswise") == 0;
    int as_stream = strcmp(how, "stream") == 0 || strcmp(how, "reopened") == 0;
    snprintf(there, sizeof there, "%s/there", words[2]);
    snprintf(back, sizeof back, "%s/back", words[2]);
    unlink(there);
    unlink(back);
    if (mkfifo(there, 0600) < 0 || mkfifo(back, 0600) < 0) return 1;
    pid_t child = fork();
    if (child == 0) {
        if (crosswise) read_from(back, "answer\n", as_stream);
        write_to(there, "question\n", as_stream);
        if (!crosswise) read_from(back, "answer\n", as_stream);
        _exit(0);
    }
    read_from(there, "question\n", as_stream);
    write_to(back, "answer\n", as_stream);
    int status;
    return waitpid(child, &status, 0) != child || status;
}
