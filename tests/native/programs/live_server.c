/* A server with a thread for each connection: it counts, and says after each line how many there were.  With
 * -DBUGGY somebody else may count between the two halves of that. */
#include <arpa/inet.h>
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long lines, counted;

static void *serve(void *argument) {
    int fd = (int)(long)argument;
    char text[64];
    for (ssize_t length; (length = read(fd, text, sizeof text)) > 0;) {
        pthread_mutex_lock(&lock);
        long before = lines;
#ifdef BUGGY
        pthread_mutex_unlock(&lock);
        pthread_mutex_lock(&lock);
#endif
        lines = before + 1;
        assert(lines == ++counted);
        pthread_mutex_unlock(&lock);
        if (write(fd, text, (size_t)length) != length) break;
    }
    close(fd);
    return NULL;
}

static void stop(int number) {
    (void)number;
    _exit(0);
}

int main(void) {
    signal(SIGTERM, stop);
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    if (bind(listening, (struct sockaddr *)&at, sizeof at) || listen(listening, 16) ||
        getsockname(listening, (struct sockaddr *)&at, &size))
        return 1;
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (;;) {
        pthread_t thread;
        int fd = accept(listening, NULL, NULL);
        if (fd >= 0) pthread_create(&thread, &detached, serve, (void *)(long)fd);
    }
}
