/* A caching proxy with its origin server and its clients, in one process and over loopback sockets.
 * It is correct as it is.  "@ name: operators" marks a place where mutations.py breaks it.
 *
 * proxy            three clients at the same time, two of which ask for the same page
 * proxy in-turn    the same clients one after the other
 *
 * Exits with 0 if each client has got its page, the counters agree, and nothing is left open.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 3
#define WORKERS 3
#define WAITING 1           /* connections that wait for a worker */
#define FETCHES 1           /* at a time */
#define PAGE 64
#define CACHE_BYTES PAGE    /* room for one page */

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    _exit(1);
}

static void check(bool holds, const char *what) {
    if (!holds) fail(what);
}

/* -- sockets ------------------------------------------------------------------------------ */

static int listening(struct sockaddr_in *address) {
    socklen_t size = sizeof *address;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    check(!bind(listener, (struct sockaddr *)address, size) && !listen(listener, 8) &&
              !getsockname(listener, (struct sockaddr *)address, &size),
          "can't listen");
    return listener;
}

static int connected(const struct sockaddr_in *address) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    check(!connect(fd, (const struct sockaddr *)address, sizeof *address), "can't connect");
    return fd;
}

static size_t receive(int fd, char *bytes, size_t most) {
    size_t length = 0;
    ssize_t got;
    while (length < most && (got = recv(fd, bytes + length, most - length, 0)) > 0)
        length += (size_t)got;
    return length;
}

static void transmit(int fd, const char *bytes, size_t length) {
    check(send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length, "can't send");
}

/* -- the origin --------------------------------------------------------------------------- */

static struct sockaddr_in origin_address, proxy_address;
static int origin_listener, proxy_listener;

static void page_of(char name, char *page) {
    memset(page, name, PAGE);
}

/* Serves a page for each connection, and ends when it is asked for page 'q'. */
static void *origin(void *argument) {
    (void)argument;
    char name = 0, page[PAGE];
    while (name != 'q') {
        int fd = accept(origin_listener, NULL, NULL);
        check(receive(fd, &name, 1) == 1, "no request for the origin");
        page_of(name, page);
        transmit(fd, page, PAGE / 2);
        transmit(fd, page + PAGE / 2, PAGE / 2);
        close(fd);
    }
    return NULL;
}

/* -- connections that wait for a worker --------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    int connections[WAITING], count;
    bool closed;
} waiting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, false};

static void put(int fd) {
    pthread_mutex_lock(&waiting.lock);                          /*@ put_lock: drop, bare */
    while (waiting.count == WAITING)
        pthread_cond_wait(&waiting.not_full, &waiting.lock);
    waiting.connections[waiting.count++] = fd;
    pthread_cond_signal(&waiting.not_empty);                    /*@ put_signal: drop */
    pthread_mutex_unlock(&waiting.lock);                        /*@ put_unlock: drop, up(2) */
}

static int taken(void) {
    int fd = -1;
    pthread_mutex_lock(&waiting.lock);                          /*@ take_lock: drop, bare */
    while (!waiting.count && !waiting.closed)                   /*@ take_empty: if */
        pthread_cond_wait(&waiting.not_empty, &waiting.lock);
    if (waiting.count) fd = waiting.connections[--waiting.count]; /*@ take: split(&waiting.lock) */
    check(fd >= 0 || waiting.closed, "a worker goes home early");
    pthread_cond_signal(&waiting.not_full);                     /*@ take_signal: drop */
    pthread_mutex_unlock(&waiting.lock);                        /*@ take_unlock: drop, up(3) */
    return fd;
}

static void close_waiting(void) {
    pthread_mutex_lock(&waiting.lock);                          /*@ close_lock: drop, bare */
    waiting.closed = true;                                      /*@ close_flag: down(2) */
    pthread_cond_broadcast(&waiting.not_empty);                 /*@ close_broadcast: signal, drop */
    pthread_mutex_unlock(&waiting.lock);
}

/* -- counters ----------------------------------------------------------------------------- */

static pthread_mutex_t counters_lock = PTHREAD_MUTEX_INITIALIZER;
static int hits, misses, evictions;
static atomic_int served, fetching;

static void count_request(bool hit) {
    pthread_mutex_lock(&counters_lock);                         /*@ count_lock: drop, bare */
    if (hit) hits++;
    else misses++;
    pthread_mutex_unlock(&counters_lock);                       /*@ count_unlock: up(2), drop */
}

/* -- the cache ---------------------------------------------------------------------------- */

struct entry {
    char name, *page;
    size_t length;
    bool complete;
    int users;
    struct entry *next;
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t completed = PTHREAD_COND_INITIALIZER;
static struct entry *newest;
static size_t cached_bytes;

static struct entry *find(char name) {
    for (struct entry *entry = newest; entry; entry = entry->next)
        if (entry->name == name) return entry;
    return NULL;
}

static struct entry *add(char name) {
    check(!find(name), "a page is in the cache twice");
    struct entry *entry = calloc(1, sizeof *entry);
    entry->name = name;
    entry->page = malloc(PAGE);
    entry->next = newest;
    newest = entry;
    return entry;
}

/* With the cache locked: drops the oldest entries that nobody uses, until the others fit. */
static void make_room(void) {
    while (cached_bytes > CACHE_BYTES) {
        struct entry **oldest = NULL;
        for (struct entry **at = &newest; *at; at = &(*at)->next)
            if ((*at)->complete && !(*at)->users) oldest = at;  /*@ evict: instead(if ((*at)->complete) oldest = at;) */
        if (!oldest) return;
        struct entry *entry = *oldest;
        *oldest = entry->next;
        cached_bytes -= entry->length;
        pthread_mutex_lock(&counters_lock);
        evictions++;
        pthread_mutex_unlock(&counters_lock);
        memset(entry->page, '?', PAGE);
        free(entry->page);
        free(entry);
    }
}

static sem_t fetches;

static void fetch(struct entry *entry) {
    sem_wait(&fetches);                                         /*@ fetch_wait: drop */
    check(atomic_fetch_add(&fetching, 1) < FETCHES, "too many fetches at a time");
    int fd = connected(&origin_address);
    transmit(fd, &entry->name, 1);
    entry->length = receive(fd, entry->page, PAGE);
    close(fd);                                                  /*@ fetch_close: twice */
    atomic_fetch_sub(&fetching, 1);                             /*@ fetch_done: down(1) */
    sem_post(&fetches);                                         /*@ fetch_post: up(4) */
}

static struct entry *entry_for(char name, bool *hit) {
    pthread_mutex_lock(&cache_lock);                            /*@ find_lock: drop, bare, down(1) */
    struct entry *entry = find(name);
    *hit = entry != NULL;
    if (entry) {                                                /*@ find: split(&cache_lock) */
        entry->users++;                                         /*@ use: down(3), split(&cache_lock) */
        while (!entry->complete)                                /*@ complete_wait: if, instead(if (0)) */
            pthread_cond_wait(&completed, &cache_lock);
        pthread_mutex_unlock(&cache_lock);                      /*@ hit_unlock: drop, up(3) */
        return entry;
    }
    entry = add(name);                                          /*@ add: split(&cache_lock) */
    entry->users++;                                             /*@ use_new: down(2) */
    pthread_mutex_unlock(&cache_lock);                          /*@ add_unlock: up(2) */
    fetch(entry);
    pthread_mutex_lock(&cache_lock);                            /*@ complete_lock: drop, bare */
    entry->complete = true;                                     /*@ complete: up(2), down(3) */
    cached_bytes += entry->length;                              /*@ bytes: down(2) */
    pthread_cond_broadcast(&completed);                         /*@ completed: drop, signal, up(3) */
    pthread_mutex_unlock(&cache_lock);                          /*@ complete_unlock: up(3) */
    return entry;
}

static void done_with(struct entry *entry) {
    pthread_mutex_lock(&cache_lock);                            /*@ done_lock: drop, bare */
    entry->users--;                                             /*@ unuse: up(1) */
    make_room();                                                /*@ room: down(1), split(&cache_lock) */
    pthread_mutex_unlock(&cache_lock);                          /*@ done_unlock: drop, up(2) */
}

/* -- workers ------------------------------------------------------------------------------ */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *greeting;

static void prepare(void) {
    char *made = malloc(1);
    greeting = made;
    made[0] = '+';
}

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char journal[CLIENTS * 8 + 1];
static size_t journal_length;

static void note(char name, const struct tm *now) {
    pthread_mutex_lock(&log_lock);                              /*@ log_lock: drop, bare */
    snprintf(journal + journal_length, 9, "%02d:%02d %c\n", now->tm_hour, now->tm_min, name);
    journal_length += 8;                                        /*@ journal: down(1) */
    pthread_mutex_unlock(&log_lock);                            /*@ log_unlock: drop, up(2) */
}

static void report(void) {
    pthread_mutex_lock(&cache_lock);
    pthread_mutex_lock(&counters_lock);                         /*@ report_lock: up(1) */
    check(hits + misses <= CLIENTS && evictions <= misses, "the counters are impossible");
    pthread_mutex_unlock(&counters_lock);
    pthread_mutex_unlock(&cache_lock);
}

static void serve(int fd) {
    char name;
    struct tm now;
    time_t zero = 0;
    pthread_once(&once, prepare);                               /*@ once: instead(if (!greeting) prepare();) */
    check(receive(fd, &name, 1) == 1, "no request for the proxy");
    bool hit;
    struct entry *entry = entry_for(name, &hit);
    count_request(hit);
    transmit(fd, greeting, 1);
    transmit(fd, entry->page, entry->length);                   /*@ reply: down(1) */
    done_with(entry);
    gmtime_r(&zero, &now);                                      /*@ gmtime: instead(now = *gmtime(&zero);) */
    note(name, &now);
    report();
    atomic_fetch_add(&served, 1);                               /*@ served: instead(served = served + 1;) */
    close(fd);                                                  /*@ serve_close: twice */
}

static void *worker(void *argument) {
    (void)argument;
    int fd;
    while ((fd = taken()) >= 0) serve(fd);
    return NULL;
}

static sem_t ready;

static void *acceptor(void *argument) {
    (void)argument;
    proxy_listener = listening(&proxy_address);
    sem_post(&ready);                                           /*@ ready: up(1) */
    for (int i = 0; i < CLIENTS; i++) put(accept(proxy_listener, NULL, NULL));
    close_waiting();                                            /*@ closing: up(1) */
    return NULL;
}

/* -- clients ------------------------------------------------------------------------------ */

static void *client(void *argument) {
    char name = "aab"[(long)argument], got[PAGE + 1], page[PAGE];
    int fd = connected(&proxy_address);
    transmit(fd, &name, 1);
    page_of(name, page);
    check(receive(fd, got, PAGE + 1) == PAGE + 1, "a client got half a page");
    check(got[0] == '+' && !memcmp(got + 1, page, PAGE), "a client got a wrong page");
    char end;
    check(recv(fd, &end, 1, 0) == 0, "a connection was not closed");
    close(fd);
    return NULL;
}

static void started(pthread_t *threads, int count, void *(*function)(void *), bool in_turn) {
    for (int i = 0; i < count; i++) {
        pthread_create(&threads[i], NULL, function, (void *)(long)i);
        if (in_turn) pthread_join(threads[i], NULL);
    }
}

static void joined(pthread_t *threads, int count) {
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

int main(int argc, char **argv) {
    (void)argv;
    bool in_turn = argc > 1;
    pthread_t origins[1], acceptors[1], workers[WORKERS], clients[CLIENTS];
    sem_init(&ready, 0, 0);
    sem_init(&fetches, 0, FETCHES);                             /*@ slots: down(7) */
    origin_listener = listening(&origin_address);
    started(origins, 1, origin, false);
    started(acceptors, 1, acceptor, false);                     /*@ start: up(4) */
    started(workers, WORKERS, worker, false);
    sem_wait(&ready);                                           /*@ wait_ready: drop */
    started(clients, CLIENTS, client, in_turn);
    if (!in_turn) joined(clients, CLIENTS);
    joined(acceptors, 1);                                       /*@ join_acceptor: drop */
    joined(workers, WORKERS);                                   /*@ join_workers: drop */
    check(served == CLIENTS, "not all were served");
    check(hits + misses == CLIENTS, "the counters do not agree");
    check(journal_length == strlen(journal), "the journal is torn");
    check(journal_length == CLIENTS * 8, "the journal has lost a line");
    size_t bytes = 0;
    for (struct entry *entry = newest; entry; entry = entry->next) {
        check(entry->complete && !entry->users, "an entry is still used");
        bytes += entry->length;
    }
    check(bytes == cached_bytes && bytes <= CACHE_BYTES, "the size of the cache is wrong");
    int fd = connected(&origin_address);
    transmit(fd, "q", 1);
    joined(origins, 1);
    close(fd);
    return 0;
}
