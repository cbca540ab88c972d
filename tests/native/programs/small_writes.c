/* Requests in two writes over TCP.  The kernel may keep the second one back until the first is
 * acknowledged, which can take 40 ms of real time; nobody may take that for a deadlock. */
#include <arpa/inet.h>
#include <assert.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUESTS 3

static int listener;

static void *serve(void *unused) {
    (void)unused;
    char byte;
    int fd = accept(listener, NULL, NULL);
    for (int request = 0; request < REQUESTS; request++) {
        for (int i = 0; i < 2; i++) assert(read(fd, &byte, 1) == 1);
        assert(write(fd, "!", 1) == 1);
    }
    close(fd);
    return NULL;
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    pthread_t server;
    char answer;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    assert(!bind(listener, (struct sockaddr *)&address, size) && !listen(listener, 1));
    assert(!getsockname(listener, (struct sockaddr *)&address, &size));
    pthread_create(&server, NULL, serve, NULL);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert(!connect(fd, (struct sockaddr *)&address, size));
    for (int request = 0; request < REQUESTS; request++) {
        for (int i = 0; i < 2; i++) assert(write(fd, "?", 1) == 1);
        assert(read(fd, &answer, 1) == 1);
    }
    pthread_join(server, NULL);
    return 0;
}
