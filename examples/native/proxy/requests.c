/* Two curls ask for the same page at the same time, through a proxy: requests PROXY.
 *
 * The web server, the proxy and both curls are one test; it exits with 0 if both got the page.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS 2
/* More than the cache of the proxy can keep. */
#define PAGE 3000

static char page[PAGE];

static int fail(const char *what) {
    perror(what);
    exit(1);
}

/* -- the web server --------------------------------------------------------------------- */

static void answer(int client) {
    char text[4096];
    if (recv(client, text, sizeof text, 0) > 0) {
        int length = snprintf(text, sizeof text, "HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n", PAGE);
        send(client, text, (size_t)length, MSG_NOSIGNAL);
        send(client, page, PAGE, MSG_NOSIGNAL);
    }
    close(client);
}

/* Its port; it serves until it is killed. */
static int start_server(pid_t *pid) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, CLIENTS) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        fail("server");
    *pid = fork();
    if (*pid == 0)
        for (;;) answer(accept(listener, NULL, NULL));
    close(listener);
    return ntohs(address.sin_port);
}

/* -- programs --------------------------------------------------------------------------- */

/* Starts a program; the stream is what it prints. */
static FILE *start(char *const words[], pid_t *pid) {
    int ends[2];
    if (pipe(ends)) fail("pipe");
    *pid = fork();
    if (*pid == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execvp(words[0], words);
        _exit(127);
    }
    close(ends[1]);
    return fdopen(ends[0], "r");
}

static int exit_code(pid_t pid) {
    int status;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: requests PROXY\n");
        return 2;
    }
    for (int i = 0; i < PAGE; i++) page[i] = (char)('a' + i % 26);

    pid_t server, proxy, curls[CLIENTS];
    char url[64], through[64], count[16], line[64];
    snprintf(url, sizeof url, "http://localhost:%d/page", start_server(&server));
    snprintf(count, sizeof count, "%d", CLIENTS);
    FILE *printed = start((char *[]){argv[1], count, NULL}, &proxy);
    if (!fgets(line, sizeof line, printed)) fail(argv[1]);
    snprintf(through, sizeof through, "http://127.0.0.1:%d", atoi(line));

    FILE *got[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        got[i] = start((char *[]){"curl", "-q", "--silent", "--noproxy", "", "--proxy", through, url, NULL},
                       &curls[i]);
    int failures = 0;
    for (int i = 0; i < CLIENTS; i++) {
        char text[PAGE + 1];
        size_t length = fread(text, 1, sizeof text, got[i]);
        int code = exit_code(curls[i]);
        if (code == 0 && length == PAGE && memcmp(text, page, PAGE) == 0) continue;
        fprintf(stderr, "client %d: curl exits with %d, %zu bytes\n", i + 1, code, length);
        failures++;
    }
    int code = exit_code(proxy);
    if (code) fprintf(stderr, "the proxy exits with %d\n", code);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    return failures || code;
}
