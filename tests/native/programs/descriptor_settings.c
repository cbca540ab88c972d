/* One task sets something about a descriptor, in two steps or for a moment, while another one uses it; "at-once" in one
 * step, or not at all.  "entered" and "not-entered" are the two ways in which a call can meet O_NONBLOCK. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static const char *what;
static bool at_once;
static int ends[2], set, half = 0, whole = 1;
static mqd_t queue;
static atomic_bool wrong;
static sem_t begun;

static bool is(const char *name) { return !strcmp(what, name); }

/* -- the one that uses it ------------------------------------------------------------------------- */

static void *takes_event(void *unused) {
    struct epoll_event event;
    if (epoll_wait(set, &event, 1, -1) == 1 && *(int *)event.data.ptr != whole) wrong = true;
    return unused;
}

static void *reads(void *unused) {
    char byte;
    if ((is("queue") ? mq_receive(queue, &byte, 1, NULL) : read(ends[0], &byte, 1)) != 1) wrong = true;
    return unused;
}

static void *reads_after_a_post(void *unused) {
    sem_post(&begun);
    return reads(unused);
}

static atomic_bool is_about_to;

static void *reads_after_a_store(void *unused) {
    is_about_to = true;
    return reads(unused);
}

static void *asks_for_port(void *unused) {
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    if (at_once) sem_wait(&begun);
    getsockname(set, (struct sockaddr *)&address, &size);
    wrong = address.sin_port == 0;
    return unused;
}

static struct sockaddr_un place = {.sun_family = AF_UNIX};

/* In an abstract place, which is taken once somebody has bound a socket to it. */
static void *connects(void *unused) {
    if (at_once) sem_wait(&begun);
    int other = socket(AF_UNIX, SOCK_STREAM, 0);
    bool refused = connect(other, (struct sockaddr *)&place, sizeof place) < 0;
    bool is_taken = bind(other, (struct sockaddr *)&place, sizeof place) < 0 && errno == EADDRINUSE;
    wrong = refused && is_taken;
    return unused;
}

static pthread_t main_thread;

static void handle(int number) { wrong = number && !pthread_equal(pthread_self(), main_thread); }

static void set_mask(int how) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(how, &signals, NULL);
}

static void *blocks_signal(void *unused) {
    if (!at_once) set_mask(SIG_BLOCK);
    sem_wait(&begun);
    return unused;
}

static char *_Atomic page;

static void *writes_to_page(void *unused) {
    char *found = at_once ? NULL : page;
    if (found) *found = 1;
    return unused;
}

/* -- the one that sets it ------------------------------------------------------------------------- */

static void set_event(int operation, int *value) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = value};
    epoll_ctl(set, operation, ends[0], &event);
}

static void set_waiting(bool waits) {
    int no_wait = !waits;
    struct timeval most = {0, waits ? 0 : 1000};
    struct mq_attr attributes = {.mq_flags = waits ? 0 : O_NONBLOCK};
    if (is("flags")) fcntl(ends[0], F_SETFL, waits ? 0 : O_NONBLOCK);
    else if (is("ioctl")) ioctl(ends[0], FIONBIO, &no_wait);
    else if (is("timeout")) setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    else mq_setattr(queue, &attributes, NULL);
}

static void send_byte(void) {
    if (is("queue")) assert(mq_send(queue, "x", 1, 0) == 0);
    else assert(write(ends[1], "x", 1) == 1);
}

static pthread_t started(void *(*begin)(void *)) {
    pthread_t thread;
    pthread_create(&thread, NULL, begin, NULL);
    return thread;
}

static pthread_t sets_event(void) {
    set = epoll_create1(0);
    send_byte();
    pthread_t other = started(takes_event);
    set_event(EPOLL_CTL_ADD, at_once ? &whole : &half);
    if (!at_once) set_event(EPOLL_CTL_MOD, &whole);
    return other;
}

static pthread_t takes_out(void) {
    set = epoll_create1(0);
    set_event(EPOLL_CTL_ADD, &half);
    pthread_t other = started(takes_event);
    if (at_once) set_event(EPOLL_CTL_MOD, &whole);
    send_byte();
    if (!at_once) set_event(EPOLL_CTL_DEL, NULL);
    if (!at_once) set_event(EPOLL_CTL_ADD, &whole);
    return other;
}

static pthread_t sets_waiting(void) {
    char name[64];
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 1};
    snprintf(name, sizeof name, "/bohrbug-settings-%d", getpid());
    if (is("queue")) queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    if (is("queue")) mq_unlink(name);
    pthread_t other = started(reads);
    if (!at_once) set_waiting(false);
    if (!at_once) set_waiting(true);
    send_byte();
    return other;
}

/* Whoever is in the call already waits on; whoever is not fails. */
static pthread_t sets_flag(void) {
    pthread_t other = started(reads_after_a_post);
    sem_wait(&begun);
    if (!at_once) fcntl(ends[0], F_SETFL, O_NONBLOCK);
    if (at_once || is("not-entered")) send_byte();
    return other;
}

/* Between the store and the call there is nothing else. */
static pthread_t sets_flag_before_call(void) {
    pthread_t other = started(reads_after_a_store);
    if (is_about_to && !at_once) fcntl(ends[0], F_SETFL, O_NONBLOCK);
    send_byte();
    return other;
}

static pthread_t binds(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    set = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t other = started(asks_for_port);
    bind(set, (struct sockaddr *)&address, sizeof address);
    sem_post(&begun);
    return other;
}

static pthread_t listens(void) {
    snprintf(place.sun_path + 1, sizeof place.sun_path - 1, "bohrbug-settings-%d", getpid());
    set = socket(AF_UNIX, SOCK_STREAM, 0);
    pthread_t other = started(connects);
    bind(set, (struct sockaddr *)&place, sizeof place);
    listen(set, 1);
    sem_post(&begun);
    return other;
}

static pthread_t sends_signal(void) {
    signal(SIGUSR1, handle);
    main_thread = pthread_self();
    if (at_once) set_mask(SIG_BLOCK);
    pthread_t other = started(blocks_signal);
    set_mask(SIG_BLOCK);
    kill(getpid(), SIGUSR1);
    set_mask(SIG_UNBLOCK);
    sem_post(&begun);
    return other;
}

static pthread_t unmaps(void) {
    char *mapped = page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t other = started(writes_to_page);
    page = NULL;
    munmap(mapped, 4096);
    return other;
}

int main(int count, char **arguments) {
    assert(count == 3);
    what = arguments[1];
    at_once = !strcmp(arguments[2], "at-once");
    sem_init(&begun, 0, 0);
    assert(is("timeout") ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 : pipe(ends) == 0);
    pthread_t (*set_it)(void) = is("event") ? sets_event : is("out") ? takes_out : is("port") ? binds
        : is("listen") ? listens : is("mask") ? sends_signal : is("page") ? unmaps
        : is("before-call") ? sets_flag_before_call : is("entered") || is("not-entered") ? sets_flag : sets_waiting;
    pthread_join(set_it(), NULL);
    assert(!wrong);
}
