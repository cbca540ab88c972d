/* Rules that the kernel has for calls which wait: the argument says which.  Each holds in every schedule. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];

static void limit(int socket, int which) {
    assert(setsockopt(socket, SOL_SOCKET, which, &(struct timeval){0, 1000}, sizeof(struct timeval)) == 0);
}

/* Nobody sends anything, and nobody receives. */
static void sockets_lose_patience(void) {
    static char much[1 << 20];
    char byte;
    limit(ends[0], SO_RCVTIMEO);
    assert(recv(ends[0], &byte, 1, 0) == -1 && errno == EAGAIN);
    assert(read(ends[0], &byte, 1) == -1 && errno == EAGAIN);
    limit(ends[1], SO_SNDTIMEO);
    assert(send(ends[1], much, sizeof much, 0) < (ssize_t)sizeof much);
    assert(send(ends[1], much, sizeof much, 0) == -1 && errno == EAGAIN);
    int listening = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un unnamed = {.sun_family = AF_UNIX};
    assert(bind(listening, (struct sockaddr *)&unnamed, sizeof unnamed.sun_family) == 0 && listen(listening, 1) == 0);
    limit(listening, SO_RCVTIMEO);
    assert(accept(listening, NULL, NULL) == -1 && errno == EAGAIN);
}

static void *send_in_parts(void *nothing) {
    for (int i = 0; i < 3; i++) assert(send(ends[1], "abc", 3, 0) == 3);
    shutdown(ends[1], SHUT_WR);
    return nothing;
}

static void all_is_waited_for(void) {
    pthread_t sender;
    char text[8];
    pthread_create(&sender, NULL, send_in_parts, NULL);
    assert(recv(ends[0], text, 7, MSG_WAITALL) == 7);
    assert(recv(ends[0], text, 7, MSG_WAITALL) == 2);
    assert(recv(ends[0], text, 7, MSG_WAITALL) == 0);
    pthread_join(sender, NULL);
}

static struct sockaddr_un here = {.sun_family = AF_UNIX, .sun_path = "\0kernel-rules"};

static void *call_on_them(void *nothing) {
    int socket_of_mine = socket(AF_UNIX, SOCK_STREAM, 0);
    char byte;
    assert(connect(socket_of_mine, (struct sockaddr *)&here, sizeof here) == 0);
    assert(read(socket_of_mine, &byte, 1) == 0);
    close(socket_of_mine);
    return nothing;
}

/* More want to be connected than there is room for. */
static void room_is_waited_for(void) {
    pthread_t callers[3];
    int listening = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(here.sun_path + 1, sizeof here.sun_path - 1, "kernel-rules-%d", (int)getpid());
    assert(connect(ends[0], (struct sockaddr *)&here, sizeof here) == -1 && errno == ECONNREFUSED);
    assert(bind(listening, (struct sockaddr *)&here, sizeof here) == 0 && listen(listening, 0) == 0);
    for (int i = 0; i < 3; i++) pthread_create(&callers[i], NULL, call_on_them, NULL);
    for (int i = 0; i < 3; i++) close(accept(listening, NULL, NULL));
    for (int i = 0; i < 3; i++) pthread_join(callers[i], NULL);
}

static void little_is_refused(void) {
    int event = eventfd(0, 0), pipe_ends[2];
    uint32_t half;
    char byte;
    assert(event >= 0 && pipe(pipe_ends) == 0);
    assert(read(event, &half, sizeof half) == -1 && errno == EINVAL);
    assert(read(pipe_ends[0], &byte, 0) == 0);
    assert(read(ends[0], &byte, 0) == 0);
}

static int lock(int file, short type, off_t at) {
    struct flock part = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    return fcntl(file, F_SETLKW, &part);
}

/* Whoever would close the circle is refused, and lets the other one go first. */
static void lock_both(int file, off_t first, off_t second) {
    assert(lock(file, F_WRLCK, first) == 0);
    if (lock(file, F_WRLCK, second) < 0) {
        assert(errno == EDEADLK);
        assert(lock(file, F_UNLCK, first) == 0);
        assert(lock(file, F_WRLCK, second) == 0);
    }
    assert(lock(file, F_UNLCK, first) == 0 && lock(file, F_UNLCK, second) == 0);
}

static void circles_of_processes_are_refused(void) {
    char name[] = "/tmp/kernel-rules-XXXXXX";
    int file = mkstemp(name), status;
    assert(file >= 0 && unlink(name) == 0);
    pid_t child = fork();
    if (!child) {
        lock_both(file, 1, 0);
        _exit(0);
    }
    lock_both(file, 0, 1);
    assert(waitpid(child, &status, 0) == child && status == 0);
}

static void the_past_is_over(void) {
    char name[32], byte;
    snprintf(name, sizeof name, "/kernel-rules-%d", (int)getpid());
    struct mq_attr room = {.mq_maxmsg = 1, .mq_msgsize = 1};
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0600, &room);
    assert(queue >= 0 && mq_unlink(name) == 0);
    const struct timespec past = {1, 0}, at_once = {0, 0};
    assert(mq_timedreceive(queue, &byte, 1, NULL, &past) == -1 && errno == ETIMEDOUT);
    int semaphore = semget(IPC_PRIVATE, 1, 0600);
    assert(semtimedop(semaphore, &(struct sembuf){0, -1, 0}, 1, &at_once) == -1 && errno == EAGAIN);
    semctl(semaphore, 0, IPC_RMID);
}

int main(int argc, char **argv) {
    assert(argc == 2 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    if (!strcmp(argv[1], "patience")) sockets_lose_patience();
    else if (!strcmp(argv[1], "all")) all_is_waited_for();
    else if (!strcmp(argv[1], "room")) room_is_waited_for();
    else if (!strcmp(argv[1], "little")) little_is_refused();
    else if (!strcmp(argv[1], "circle")) circles_of_processes_are_refused();
    else if (!strcmp(argv[1], "past")) the_past_is_over();
    else return 2;
    return 0;
}
