/* What is done when a call fails: connect, fork, malloc or send.  FIXED: the right thing. */
#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int connected(const struct sockaddr_in *address) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int result = connect(fd, (const struct sockaddr *)address, sizeof *address);
#ifdef FIXED
    if (result < 0) {
        close(fd);
        return connected(address);
    }
#else
    (void)result;
#endif
    return fd;
}

static int try_connect(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert(listen(listener, 1) == 0);
    getsockname(listener, (struct sockaddr *)&address, &size);
    assert(send(connected(&address), "x", 1, MSG_NOSIGNAL) == 1);
    return 0;
}

static int try_fork(void) {
    pid_t child = fork();
#ifdef FIXED
    if (child < 0) child = fork();
#endif
    if (child == 0) _exit(0);
    return waitpid(child, NULL, 0) < 0;
}

/* The program goes on with less memory, if it looks. */
static int try_malloc(void) {
    volatile char *block = malloc(100);
#ifdef FIXED
    if (!block) return 0;
#endif
    block[0] = 'x';
    free((char *)block);
    return 0;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];

static void *talk(void *unused) {
    pthread_mutex_lock(&lock);
    if (send(ends[0], "x", 1, MSG_NOSIGNAL) != 1) {
#ifdef FIXED
        pthread_mutex_unlock(&lock);
#endif
        return unused;
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

static int try_send(void) {
    pthread_t threads[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, talk, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "connect") == 0) return try_connect();
    if (argc == 2 && strcmp(argv[1], "fork") == 0) return try_fork();
    if (argc == 2 && strcmp(argv[1], "malloc") == 0) return try_malloc();
    return try_send();
}
