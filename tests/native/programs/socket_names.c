/* One task uses a socket by its name in the file system, and another takes that name away: whether the first one
 * reaches it must be as the last argument says. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un address = {.sun_family = AF_UNIX};
#define NAME (const struct sockaddr *)&address, sizeof address
static const char *mode;
static int used, reached;

static int is(const char *name) { return strcmp(mode, name) == 0; }

static void *use(void *unused) {
    struct iovec byte = {"x", 1};
    struct msghdr message = {
        .msg_name = &address, .msg_namelen = sizeof address, .msg_iov = &byte, .msg_iovlen = 1};
    if (is("connect")) reached = connect(used, NAME) == 0;
    if (is("sendto")) reached = sendto(used, "x", 1, 0, NAME) == 1;
    if (is("sendmsg")) reached = sendmsg(used, &message, 0) == 1;
    /* Whoever is first has the name; whoever is second finds it taken. */
    if (is("bind")) reached = bind(used, NAME) < 0;
    return unused;
}

static void *take_away(void *unused) {
    unlink(address.sun_path);
    return unused;
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    mode = arguments[1];
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/socket_names.%d", (int)getpid());
    int named = socket(AF_UNIX, SOCK_DGRAM, 0);
    used = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert(bind(named, NAME) == 0);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, use, NULL);
    pthread_create(&threads[1], NULL, take_away, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    unlink(address.sun_path);
    assert(reached == atoi(arguments[2]));
    return 0;
}
