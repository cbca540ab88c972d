/* A thread waits for what comes through a descriptor, and the main thread closes it: the wait goes on for ever.  FIXED:
 * it ends the connection. */
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];

static void *reads(void *unused) {
    char byte;
    while (read(ends[0], &byte, 1) > 0) continue;
    return unused;
}

int main(void) {
    pthread_t reader;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) return 1;
    pthread_create(&reader, NULL, reads, NULL);
#ifdef FIXED
    shutdown(ends[0], SHUT_RDWR);
#else
    close(ends[0]);
#endif
    pthread_join(reader, NULL);
    return 0;
}
