/* A small web server: answers every request with a page that names its path.
 *
 *     server DESCRIPTOR      of a socket that listens already
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void answer(int client) {
    char request[2048], path[512], body[700], page[900];
    size_t length = 0;
    while (length < sizeof request - 1) {
        ssize_t got = read(client, request + length, sizeof request - 1 - length);
        if (got <= 0) return;
        length += (size_t)got;
        request[length] = 0;
        if (strstr(request, "\r\n\r\n")) break;
    }
    if (sscanf(request, "GET %500s", path) != 1) return;
    int size = snprintf(body, sizeof body, "This is the page %s.\n", path);
    int total = snprintf(page, sizeof page, "HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s", size,
                         body);
    if (write(client, page, (size_t)total) != total) perror("server");
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    for (;;) {
        int client = accept(atoi(argv[1]), NULL, NULL);
        if (client < 0) return 1;
        answer(client);
        close(client);
    }
}
