/* Starts a web server, a proxy before it, and two identical requests by curl at the same time; it is
 * a success if both get the page.
 *
 *     requests SERVER PROXY
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUESTS 2

/* A socket that listens on some free port of this machine. */
static int listening(int *port) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 8) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0) {
        perror("requests");
        exit(2);
    }
    *port = ntohs(address.sin_port);
    return fd;
}

static pid_t start(char *const *words, int output) {
    pid_t child = fork();
    if (child) return child;
    if (output >= 0) dup2(output, STDOUT_FILENO);
    execvp(words[0], words);
    perror(words[0]);
    _exit(127);
}

static int succeeded(pid_t child) {
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int server_port, proxy_port;
    int server = listening(&server_port), proxy = listening(&proxy_port);
    char server_fd[12], proxy_fd[12], url[80], through[80], count[12];
    snprintf(server_fd, sizeof server_fd, "%d", server);
    snprintf(proxy_fd, sizeof proxy_fd, "%d", proxy);
    snprintf(count, sizeof count, "%d", REQUESTS);
    snprintf(url, sizeof url, "http://localhost:%d/page", server_port);
    snprintf(through, sizeof through, "http://127.0.0.1:%d", proxy_port);
    pid_t serving = start((char *[]){argv[1], server_fd, NULL}, -1);
    pid_t running = start((char *[]){argv[2], proxy_fd, count, NULL}, -1);
    close(server);
    close(proxy);

    pid_t clients[REQUESTS];
    int answers[REQUESTS];
    for (int i = 0; i < REQUESTS; i++) {
        int ends[2];
        if (pipe(ends) < 0) return 2;
        char *words[] = {"curl", "--silent", "--proxy", through, "--noproxy", "", url, NULL};
        clients[i] = start(words, ends[1]);
        close(ends[1]);
        answers[i] = ends[0];
    }
    int failures = 0;
    for (int i = 0; i < REQUESTS; i++) {
        char page[4096];
        size_t length = 0;
        ssize_t got;
        while ((got = read(answers[i], page + length, sizeof page - 1 - length)) > 0)
            length += (size_t)got;
        page[length] = 0;
        if (!succeeded(clients[i]) || strcmp(page, "This is the page /page.\n")) {
            fprintf(stderr, "client %d got: %s\n", i, page);
            failures++;
        }
    }
    if (!succeeded(running)) failures++;
    kill(serving, SIGTERM);
    waitpid(serving, NULL, 0);
    return failures ? 1 : 0;
}
