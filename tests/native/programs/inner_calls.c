/* Functions of the C library that read and write from inside of it.  Two threads do what the argument says: correctly
 * done at once, and done in two steps. */
#include <aio.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t __read_chk(int fd, void *buffer, size_t count, size_t size);
ssize_t __recv_chk(int fd, void *buffer, size_t length, size_t size, int flags);
int __dprintf_chk(int fd, int flag, const char *format, ...);

static int ends[2], other_ends[2], file, set, in_two_steps;

static void both(void *(*one)(void *), void *(*other)(void *)) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, one, "a");
    pthread_create(&threads[1], NULL, other, "b");
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

/* What two wrote is not mixed. */
static void check(int fd) {
    char text[4];
    for (size_t got = 0; got < sizeof text;) {
        ssize_t size = __read_chk(fd, text + got, sizeof text - got, sizeof text);
        assert(size > 0);
        got += (size_t)size;
    }
    assert(text[0] == text[1] && text[2] == text[3]);
}

static void *prints(void *text) {
    if (in_two_steps) {
        dprintf(ends[1], "%s", (char *)text);
        dprintf(ends[1], "%s", (char *)text);
    } else {
        __dprintf_chk(ends[1], 1, "%s%s", (char *)text, (char *)text);
    }
    return NULL;
}

static void *checks(void *unused) {
    check(ends[0]);
    return unused;
}

static void print(void) {
    assert(pipe(ends) == 0);
    pthread_t reader;
    pthread_create(&reader, NULL, checks, NULL);
    both(prints, prints);
    pthread_join(reader, NULL);
}

static void *appends(void *text) {
    struct iovec part = {text, 1};
    if (in_two_steps) pwritev2(file, &part, 1, lseek(file, 0, SEEK_END), 0);
    else pwritev2(file, &part, 1, 0, RWF_APPEND);
    return NULL;
}

static void append(void) {
    file = memfd_create("inner_calls", 0);
    both(appends, appends);
    struct stat status;
    assert(fstat(file, &status) == 0 && status.st_size == 2);
}

static void *adds(void *unused) {
    eventfd_write(file, 1);
    return unused;
}

static void *takes(void *unused) {
    eventfd_t value, sum = 0;
    do {
        eventfd_read(file, &value);
        sum += value;
    } while (!in_two_steps && sum < 2);
    assert(sum == 2);
    return unused;
}

static void count(void) {
    file = eventfd(0, 0);
    pthread_t taker;
    pthread_create(&taker, NULL, takes, NULL);
    both(adds, adds);
    pthread_join(taker, NULL);
}

/* By System V's semaphores: each takes both, in two orders where it is done in two steps. */
static void *holds(void *name) {
    unsigned short first = in_two_steps && *(char *)name == 'b';
    struct sembuf take[] = {{first, -1, 0}, {!first, -1, 0}}, give[] = {{0, 1, 0}, {1, 1, 0}};
    if (in_two_steps) {
        semtimedop(set, &take[0], 1, NULL);
        semtimedop(set, &take[1], 1, NULL);
    } else {
        semtimedop(set, take, 2, NULL);
    }
    semtimedop(set, give, 2, NULL);
    return NULL;
}

static void hold(void) {
    set = semget(IPC_PRIVATE, 2, 0600);
    for (int i = 0; i < 2; i++) semctl(set, i, SETVAL, 1);
    both(holds, holds);
    semctl(set, 0, IPC_RMID);
}

static void *sends(void *text) {
    struct iovec part = {text, 1};
    struct mmsghdr messages[2];
    memset(messages, 0, sizeof messages);
    for (int i = 0; i < 2; i++) messages[i].msg_hdr = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1};
    assert(sendmmsg(ends[1], messages, 2, 0) == 2);
    return NULL;
}

static void *receives(void *unused) {
    char bytes[2];
    struct iovec parts[2] = {{&bytes[0], 1}, {&bytes[1], 1}};
    struct mmsghdr messages[2];
    memset(messages, 0, sizeof messages);
    for (int i = 0; i < 2; i++) messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
    int flags = in_two_steps ? MSG_WAITFORONE : 0;
    assert(recvmmsg(ends[0], messages, 2, flags, NULL) == 2);
    return unused;
}

static void exchange(void) {
    assert(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
    both(sends, receives);
}

static void *moves(void *unused) {
    for (ssize_t left = 2, size; left; left -= size) {
        size = splice(ends[0], NULL, other_ends[1], NULL, (size_t)left, 0);
        assert(size > 0);
        if (in_two_steps) assert(size == 2);
    }
    return unused;
}

static void *feeds(void *text) {
    for (int i = 0; i < 2; i++) assert(write(ends[1], text, 1) == 1);
    return NULL;
}

static void move(void) {
    assert(pipe(ends) == 0 && pipe(other_ends) == 0);
    both(feeds, moves);
    char bytes[2];
    assert(read(other_ends[0], bytes, 2) == 2);
}

static void asynchronous(void) {
    static char bytes[2];
    file = memfd_create("inner_calls", 0);
    struct aiocb request = {.aio_fildes = file, .aio_buf = bytes, .aio_nbytes = sizeof bytes};
    const struct aiocb *requests[] = {&request};
    aio_read(&request);
    while (aio_error(&request) == EINPROGRESS) aio_suspend(requests, 1, NULL);
    assert(aio_return(&request) == 0);
}

static sem_t told;

static void tell(union sigval unused) {
    (void)unused;
    sem_post(&told);
}

/* The C library starts a thread, which lets this one go on. */
static void told_of_a_read(void) {
    static char bytes[2];
    file = memfd_create("inner_calls", 0);
    struct aiocb request = {.aio_fildes = file, .aio_buf = bytes, .aio_nbytes = sizeof bytes};
    request.aio_sigevent = (struct sigevent){.sigev_notify = SIGEV_THREAD, .sigev_notify_function = tell};
    aio_read(&request);
    sem_wait(&told);
}

static void told_of_a_message(void) {
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 1};
    char name[32];
    snprintf(name, sizeof name, "/inner_calls.%d", (int)getpid());
    mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    mq_unlink(name);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = tell};
    mq_notify(queue, &event);
    mq_send(queue, "", 1, 0);
    sem_wait(&told);
}

int main(int arguments_count, char **arguments) {
    static const struct {
        const char *name;
        void (*does)(void);
    } kinds[] = {{"print", print}, {"append", append},     {"count", count},
                 {"hold", hold},   {"exchange", exchange}, {"move", move},
                 {"asynchronous", asynchronous}, {"told-of-a-read", told_of_a_read},
                 {"told-of-a-message", told_of_a_message}};
    in_two_steps = arguments_count > 2;
    for (size_t i = 0; arguments_count > 1 && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(arguments[1], kinds[i].name)) kinds[i].does();
    return 0;
}
