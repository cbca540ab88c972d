/* Regular files and streams that two tasks use, in a folder of their own; with a second argument under a lock. */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

static const char *mode;
static int guarded, fd;
static FILE *stream;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is(const char *name) { return strcmp(mode, name) == 0; }

/* A number in a file, and one more. */
static void count_up(int file) {
    char digit = '0';
    pread(file, &digit, 1, 0);
    digit++;
    pwrite(file, &digit, 1, 0);
}

static int entries_read(void) {
    DIR *folder = opendir(".");
    int count = 0;
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

static int entries_listed(void) {
    struct dirent **entries;
    int count = scandir(".", &entries, NULL, NULL);
    for (int i = 0; i < count; i++) free(entries[i]);
    free(entries);
    return count;
}

/* What is copied twice is the same. */
static void copy_twice(int sends) {
    int copy = open("copy", O_CREAT | O_RDWR | O_TRUNC, 0600);
    char text[2];
    for (int i = 0; i < 2; i++) {
        off_t from = 0;
        if (sends) assert(sendfile(copy, fd, &from, 1) == 1);
        else assert(copy_file_range(fd, &from, copy, NULL, 1, 0) == 1);
    }
    assert(pread(copy, text, 2, 0) == 2 && text[0] == text[1]);
    close(copy);
}

static void *first(void *unused) {
    char byte;
    if (guarded) pthread_mutex_lock(&lock);
    if (is("position")) {
        lseek(fd, 0, SEEK_SET);
        assert(read(fd, &byte, 1) == 1 && byte == 'a');
    } else if (is("size")) {
        struct stat status;
        fstat(fd, &status);
        assert(status.st_size == 0 || pread(fd, &byte, 1, 0) == 1);
    } else if (is("name")) {
        if (access("made", F_OK)) assert(open("made", O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0);
    } else if (is("renamed")) {
        if (access("file", F_OK) == 0) assert(open("file", O_RDONLY) >= 0);
    } else if (is("content")) {
        count_up(fd);
    } else if (is("stream")) {
        fputs("1", stream);
        fputs("2", stream);
    } else if (is("peeked")) {
        ungetc(getc(stream), stream);
    } else if (is("position-of-stream")) {
        fpos_t before;
        fgetpos(stream, &before);
        getc(stream);
        fsetpos(stream, &before);
    } else if (is("locked-stream")) {
        flockfile(stream);
        fputs("1", stream);
        fputs("2", stream);
        funlockfile(stream);
    } else if (is("lines")) {
        char line[8], next[8];
        assert(fgets(line, sizeof line, stream) && fgets(next, sizeof next, stream));
        assert(next[0] == line[0] + 1);
    } else if (is("numbers")) {
        int number, next;
        assert(fscanf(stream, "%d", &number) == 1 && fscanf(stream, "%d", &next) == 1);
        assert(next == number + 1);
    } else if (is("wide")) {
        fputwc(L'1', stream);
        fputwc(L'2', stream);
    } else if (is("read-folder")) {
        assert(entries_read() == entries_read());
    } else if (is("listed-folder")) {
        assert(entries_listed() == entries_listed());
    } else if (is("copied") || is("sent")) {
        copy_twice(is("sent"));
    }
    if (guarded) pthread_mutex_unlock(&lock);
    return unused;
}

static void *second(void *unused) {
    char byte;
    if (guarded) pthread_mutex_lock(&lock);
    if (is("position")) {
        lseek(fd, 2, SEEK_SET);
        assert(read(fd, &byte, 1) == 1 && byte == 'c');
    } else if (is("size")) {
        assert(ftruncate(fd, 0) == 0);
    } else if (is("name")) {
        close(open("made", O_CREAT | O_WRONLY, 0600));
    } else if (is("renamed")) {
        rename("file", "moved");
    } else if (is("content")) {
        count_up(fd);
    } else if (is("stream") || is("locked-stream")) {
        fputs("x", stream);
    } else if (is("peeked") || is("position-of-stream")) {
        assert(getc(stream) == 'a');
    } else if (is("lines")) {
        char line[8];
        fgets(line, sizeof line, stream);
    } else if (is("numbers")) {
        int number;
        assert(fscanf(stream, "%d", &number) == 1);
    } else if (is("wide")) {
        fputwc(L'x', stream);
    } else if (is("read-folder")) {
        close(open("made", O_CREAT | O_WRONLY, 0600));
    } else if (is("listed-folder")) {
        unlink("file");
    } else if (is("copied") || is("sent")) {
        pwrite(fd, "z", 1, 0);
    }
    if (guarded) pthread_mutex_unlock(&lock);
    return unused;
}

/* The same from two processes, which have only locks of files. */
static void in_two_processes(void) {
    int is_child = fork() == 0;
    int file = open("file", O_RDWR);
    if (guarded) flock(file, LOCK_EX);
    count_up(file);
    if (guarded) flock(file, LOCK_UN);
    if (is_child) _exit(0);
    wait(NULL);
}

int main(int count, char **arguments) {
    char folder[] = "/tmp/bohrbug-test-XXXXXX", text[8] = "";
    pthread_t one, other;
    mode = arguments[1];
    guarded = count > 2;
    assert(mkdtemp(folder) && chdir(folder) == 0);
    fd = open("file", O_CREAT | O_RDWR, 0600);
    const char *content = is("content") || is("processes") ? "0" : is("lines") ? "a\nb\nc\n"
                          : is("numbers") ? "1 2 3 4\n" : "abc";
    pwrite(fd, content, strlen(content), 0);
    int is_read = is("lines") || is("numbers") || is("peeked") || is("position-of-stream");
    stream = fopen(is_read ? "file" : "text", is_read ? "r" : "w+");
    if (is("processes")) {
        in_two_processes();
    } else {
        pthread_create(&one, NULL, first, NULL);
        pthread_create(&other, NULL, second, NULL);
        pthread_join(one, NULL);
        pthread_join(other, NULL);
    }
    if (is("content") || is("processes")) assert(pread(fd, text, 1, 0) == 1 && text[0] == '2');
    if (is("stream") || is("locked-stream")) {
        rewind(stream);
        assert(fgets(text, sizeof text, stream) && strcmp(text, "1x2"));
    }
    if (is("wide")) {
        fflush(stream);
        assert(pread(fileno(stream), text, 3, 0) == 3 && strcmp(text, "1x2"));
    }
    unlink("copy"), unlink("file"), unlink("made"), unlink("moved"), unlink("text");
    rmdir(folder);
    return 0;
}
