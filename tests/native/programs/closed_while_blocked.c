/* What a thread is blocked on is closed, and its number used for something else; what comes then is still read from
 * where the thread began to read. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static int ends[2], others[2];

static void *reads(void *unused) {
    char byte = 0;
    /* It may come too late, and find the number closed, or in use for another pipe, which has nothing. */
    if (read(ends[0], &byte, 1) == 1) assert(byte == 'a' || byte == 'b');
    else assert(errno == EBADF);
    return unused;
}

int main(void) {
    pthread_t reader;
    signal(SIGPIPE, SIG_IGN);
    if (pipe(ends) < 0) return 1;
    pthread_create(&reader, NULL, reads, NULL);
    close(ends[0]);
    if (pipe(others) < 0 || write(others[1], "b", 1) != 1) return 1;
    /* Nobody reads it, unless that thread does. */
    if (write(ends[1], "a", 1) < 0) return errno != EPIPE;
    pthread_join(reader, NULL);
    return 0;
}
