/* A server and a client on the loopback interface each wait for the other to speak first; the client
 * looks at its clock, too, with -DPOLLS.  FIXED: the client speaks. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void wait_for_answer(int fd) {
#ifdef POLLS
    struct pollfd answer = {fd, POLLIN, 0};
    while (poll(&answer, 1, 1000) == 0) continue;
#endif
    char byte;
    if (recv(fd, &byte, 1, 0) != 1) _exit(1);
}

static int client(const struct sockaddr_in *address) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr *)address, sizeof *address)) return 1;
#ifdef FIXED
    send(fd, "?", 1, 0);
#endif
    wait_for_answer(fd);
    return 0;
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        return 2;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    pid_t child = fork();
    if (child == 0) return client(&address);
    int fd = accept(listener, NULL, NULL);
    char byte;
    recv(fd, &byte, 1, 0);
    send(fd, "!", 1, 0);
    int status;
    waitpid(child, &status, 0);
    return status != 0;
}
