/* A caching HTTP proxy with a thread for each request, correct as it is.  Five faults can be compiled into
 * it, each of them usual in such a program:
 *
 *     -DUNLOCKED_CACHE    an entry is used before it is complete: nobody locks, nobody waits
 *     -DNOT_REENTRANT     gethostbyname, whose result the next call overwrites
 *     -DLOCK_ORDER        the cache and the counters are locked in one order here, in the other there
 *     -DUSE_AFTER_FREE    an entry is evicted and freed while another thread still sends it
 *     -DMISSING_SIGNAL    nobody tells those that wait for an entry that it is complete
 *
 * proxy REQUESTS prints its port, serves so many requests, and ends.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CACHE_BYTES 2048
#define MOST_BYTES 65536
#define MOST_REQUESTS 16

/* -- the cache -------------------------------------------------------------------------- */

struct entry {
    char *answer;
    size_t length;
    bool complete;
    int users;
    char key[512];
    struct entry *next;
};

static struct entry *newest;
static size_t cached_bytes;
static pthread_cond_t completed = PTHREAD_COND_INITIALIZER;

static int hits, misses;
static pthread_mutex_t counters_lock = PTHREAD_MUTEX_INITIALIZER;

#ifdef UNLOCKED_CACHE
static void lock_cache(void) {}
static void unlock_cache(void) {}
static void wait_until_complete(const struct entry *entry) { (void)entry; }
#else
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_cache(void) { pthread_mutex_lock(&cache_lock); }
static void unlock_cache(void) { pthread_mutex_unlock(&cache_lock); }

static void wait_until_complete(const struct entry *entry) {
    while (!entry->complete) pthread_cond_wait(&completed, &cache_lock);
}
#endif

/* With the cache locked. */
static void count_request(bool hit) {
    pthread_mutex_lock(&counters_lock);
    if (hit) hits++;
    else misses++;
    pthread_mutex_unlock(&counters_lock);
}

static void report(void) {
#ifdef LOCK_ORDER
    pthread_mutex_lock(&counters_lock);
    lock_cache();
#else
    lock_cache();
    pthread_mutex_lock(&counters_lock);
#endif
    fprintf(stderr, "%d hits, %d misses, %zu bytes\n", hits, misses, cached_bytes);
    pthread_mutex_unlock(&counters_lock);
    unlock_cache();
}

static struct entry *find(const char *key) {
    for (struct entry *entry = newest; entry; entry = entry->next)
        if (strcmp(entry->key, key) == 0) return entry;
    return NULL;
}

static struct entry *add(const char *key) {
    struct entry *entry = calloc(1, sizeof *entry);
    snprintf(entry->key, sizeof entry->key, "%s", key);
    entry->answer = malloc(MOST_BYTES);
    entry->next = newest;
    newest = entry;
    return entry;
}

static bool may_be_evicted(const struct entry *entry) {
#ifdef USE_AFTER_FREE
    return entry->complete;
#else
    return entry->complete && entry->users == 0;
#endif
}

/* Evicts the oldest entries until the others fit. */
static void make_room(void) {
    while (cached_bytes > CACHE_BYTES) {
        struct entry **oldest = NULL;
        for (struct entry **at = &newest; *at; at = &(*at)->next)
            if (may_be_evicted(*at)) oldest = at;
        if (!oldest) return;
        struct entry *entry = *oldest;
        *oldest = entry->next;
        cached_bytes -= entry->length;
        free(entry->answer);
        free(entry);
    }
}

/* -- sockets ---------------------------------------------------------------------------- */

static bool send_all(int fd, const char *bytes, size_t length) {
    while (length) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

static bool find_host(const char *name, struct in_addr *address) {
#ifdef NOT_REENTRANT
    const struct hostent *host = gethostbyname(name);
    if (!host || host->h_addrtype != AF_INET) return false;
    memcpy(address, host->h_addr_list[0], sizeof *address);
#else
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    if (getaddrinfo(name, NULL, &hints, &found)) return false;
    *address = ((struct sockaddr_in *)found->ai_addr)->sin_addr;
    freeaddrinfo(found);
#endif
    return true;
}

/* -- a request -------------------------------------------------------------------------- */

struct request {
    char host[256], path[256];
    struct sockaddr_in address;
};

/* "GET http://host:port/path HTTP/1.1", and lines that do not matter here. */
static bool read_request(int client, struct request *request) {
    char text[4096];
    size_t length = 0;
    do {
        ssize_t got = recv(client, text + length, sizeof text - 1 - length, 0);
        if (got <= 0) return false;
        length += (size_t)got;
        text[length] = 0;
    } while (!strstr(text, "\r\n\r\n") && length < sizeof text - 1);
    int port = 80;
    if (sscanf(text, "GET http://%255[^:/]:%d%255s", request->host, &port, request->path) != 3)
        return false;
    request->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
    return find_host(request->host, &request->address.sin_addr);
}

/* The answer of the server goes straight into the entry. */
static void fetch(const struct request *request, struct entry *entry) {
    char text[1024];
    int length = snprintf(text, sizeof text, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", request->path,
                          request->host);
    int server = socket(AF_INET, SOCK_STREAM, 0);
    const struct sockaddr *address = (const struct sockaddr *)&request->address;
    if (connect(server, address, sizeof request->address) == 0 &&
        send_all(server, text, (size_t)length)) {
        ssize_t got;
        while ((got = recv(server, entry->answer + entry->length, MOST_BYTES - entry->length, 0)) > 0)
            entry->length += (size_t)got;
    }
    close(server);
}

static struct entry *entry_for(const struct request *request) {
    char key[512], host[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &request->address.sin_addr, host, sizeof host);
    snprintf(key, sizeof key, "%s:%d%s", host, ntohs(request->address.sin_port), request->path);
    lock_cache();
    struct entry *entry = find(key);
    count_request(entry != NULL);
    if (entry) {
        entry->users++;
        wait_until_complete(entry);
        unlock_cache();
        return entry;
    }
    entry = add(key);
    entry->users++;
    unlock_cache();
    fetch(request, entry);
    lock_cache();
    entry->complete = true;
    cached_bytes += entry->length;
#ifndef MISSING_SIGNAL
    pthread_cond_broadcast(&completed);
#endif
    unlock_cache();
    return entry;
}

static void *serve(void *argument) {
    int client = (int)(long)argument;
    struct request request;
    if (read_request(client, &request)) {
        struct entry *entry = entry_for(&request);
        send_all(client, entry->answer, entry->length);
        lock_cache();
        entry->users--;
        make_room();
        unlock_cache();
        report();
    }
    close(client);
    return NULL;
}

int main(int argc, char **argv) {
    int requests = argc > 1 ? atoi(argv[1]) : 1;
    if (requests < 1 || requests > MOST_REQUESTS) return 2;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, MOST_REQUESTS) ||
        getsockname(listener, (struct sockaddr *)&address, &size)) {
        perror("proxy");
        return 1;
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    pthread_t threads[MOST_REQUESTS];
    for (int i = 0; i < requests; i++) {
        int client = accept(listener, NULL, NULL);
        pthread_create(&threads[i], NULL, serve, (void *)(long)client);
    }
    for (int i = 0; i < requests; i++) pthread_join(threads[i], NULL);
    return 0;
}
