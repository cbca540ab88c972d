/* Does something to the descriptor of standard output, and prints. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *nothing) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(int count, char **arguments) {
    pthread_t thread;
    char text[10000];
    memset(text, 'x', sizeof text);
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    const char *what = count > 1 ? arguments[1] : "";
    int length = sprintf(text, "%ld %x\n", (long)lseek(1, 0, SEEK_CUR), (unsigned)fcntl(1, F_GETFL));
    if (!strcmp(what, "position")) return write(1, text, (size_t)length) != length;
    if (!strcmp(what, "flags")) return fcntl(1, F_SETFL, O_NONBLOCK) || write(1, text, (size_t)length) != length;
    if (!strcmp(what, "full")) return write(1, text, 4096) + write(2, text, 4096) != 8192;
    if (!strcmp(what, "too-full")) return write(1, text, 4097) != 4097;
    if (!strcmp(what, "closed")) return close(1) || close(2);
    return 1;
}
