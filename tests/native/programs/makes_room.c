/* Who waits for room in a pipe goes on, as soon as there is some, before who has made it. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define ROOM 4096

static int ends[2];
static volatile int has_written;
static char bytes[ROOM];

static void *writes(void *unused) {
    assert(write(ends[1], "x", 1) == 1);
    has_written = 1;
    return unused;
}

int main(void) {
    pthread_t thread;
    assert(pipe(ends) == 0 && fcntl(ends[1], F_SETPIPE_SZ, ROOM) == ROOM);
    assert(write(ends[1], bytes, ROOM) == ROOM);
    pthread_create(&thread, NULL, writes, NULL);
    assert(read(ends[0], bytes, ROOM) == ROOM);
    assert(!has_written);
    pthread_join(thread, NULL);
}
