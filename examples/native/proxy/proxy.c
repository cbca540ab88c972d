/* An HTTP proxy with a cache and a thread for each connection.
 *
 *     proxy DESCRIPTOR CONNECTIONS
 *
 * serves so many connections on a socket that listens already, checks its cache, and ends.  As it is it
 * is correct; each of these makes a mistake of the kind that such programs are known for:
 *
 *     -DUNLOCKED         nothing guards the cache
 *     -DNOT_REENTRANT    the address of the server is looked up by gethostbyname in all threads
 *     -DLOCK_ORDER       the statistics and the cache are locked in two orders
 *     -DUSE_AFTER_FREE   an entry is sent without the lock, while another thread may replace it
 *     -DMISSING_SIGNAL   nobody is told that a page has arrived
 */
#include <assert.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct entry {
    struct entry *next;
    char url[512];
    char *page;             /* NULL while it is being fetched */
    size_t length;
};

static struct entry *cache;
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived __attribute__((unused)) = PTHREAD_COND_INITIALIZER;

static int hits, misses;
static pthread_mutex_t statistics_lock = PTHREAD_MUTEX_INITIALIZER;

#ifdef UNLOCKED
#define LOCK(mutex) ((void)(mutex))
#define UNLOCK(mutex) ((void)(mutex))
#else
#define LOCK(mutex) pthread_mutex_lock(mutex)
#define UNLOCK(mutex) pthread_mutex_unlock(mutex)
#endif

static void count(int *what) {
    pthread_mutex_lock(&statistics_lock);
    ++*what;
    pthread_mutex_unlock(&statistics_lock);
}

/* -- the server behind the proxy ---------------------------------------------------- */

static bool address_of(const char *host, struct in_addr *address) {
#ifdef NOT_REENTRANT
    const struct hostent *found = gethostbyname(host);
#else
    struct hostent entry, *found = NULL;
    char buffer[4096];
    int error;
    gethostbyname_r(host, &entry, buffer, sizeof buffer, &found, &error);
#endif
    if (!found || found->h_addrtype != AF_INET) return false;
    memcpy(address, found->h_addr_list[0], sizeof *address);
    return true;
}

static bool send_all(int to, const char *data, size_t length) {
    while (length) {
        ssize_t sent = write(to, data, length);
        if (sent <= 0) return false;
        data += sent;
        length -= (size_t)sent;
    }
    return true;
}

/* The whole answer to a request, for the caller to free; NULL if there is none. */
static char *fetch(const char *url, size_t *length) {
    char host[256], path[256] = "/", request[700];
    int port = 80;
    if (sscanf(url, "http://%255[^:/]:%d%255s", host, &port, path) < 2) return NULL;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (!address_of(host, &to.sin_addr)) return NULL;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(server, (struct sockaddr *)&to, sizeof to) < 0) {
        close(server);
        return NULL;
    }
    int size = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", path, host);
    char *page = NULL;
    *length = 0;
    if (send_all(server, request, (size_t)size)) {
        for (;;) {
            page = realloc(page, *length + 1024);
            ssize_t got = read(server, page + *length, 1024);
            if (got <= 0) break;
            *length += (size_t)got;
        }
    }
    close(server);
    return page;
}

/* -- the cache ------------------------------------------------------------------------ */

static struct entry *find(const char *url) {
    for (struct entry *entry = cache; entry; entry = entry->next)
        if (!strcmp(entry->url, url)) return entry;
    return NULL;
}

static struct entry *add(const char *url) {
    struct entry *entry = calloc(1, sizeof *entry);
    snprintf(entry->url, sizeof entry->url, "%s", url);
    entry->next = cache;
    cache = entry;
    return entry;
}

#ifndef USE_AFTER_FREE
/* The page for a URL, from the cache or from its server, for the caller to free. */
static char *page_of(const char *url, size_t *length) {
    LOCK(&cache_lock);
    struct entry *entry = find(url);
    if (entry) {
#ifndef UNLOCKED
        while (!entry->page) pthread_cond_wait(&arrived, &cache_lock);
#endif
        count(&hits);
    } else {
#ifndef UNLOCKED
        entry = add(url);
        UNLOCK(&cache_lock);
#endif
        size_t size;
        char *page = fetch(url, &size);
        assert(page);
#ifdef UNLOCKED
        entry = add(url);
#endif
#ifdef LOCK_ORDER
        pthread_mutex_lock(&statistics_lock);
        LOCK(&cache_lock);
        misses++;
        pthread_mutex_unlock(&statistics_lock);
#else
        LOCK(&cache_lock);
        count(&misses);
#endif
        entry->page = page;
        entry->length = size;
#ifndef MISSING_SIGNAL
        pthread_cond_broadcast(&arrived);
#endif
    }
    *length = entry->length;
    char *copy = malloc(entry->length);
    memcpy(copy, entry->page, entry->length);
    UNLOCK(&cache_lock);
    return copy;
}

static void send_page(int client, const char *url) {
    size_t length;
    char *page = page_of(url, &length);
    send_all(client, page, length);
    free(page);
}
#else
/* Whoever has fetched a page puts it into the cache, in the place of an older one. */
static void send_page(int client, const char *url) {
    size_t size;
    LOCK(&cache_lock);
    struct entry *entry = find(url);
    UNLOCK(&cache_lock);
    count(entry ? &hits : &misses);
    if (!entry) {
        char *page = fetch(url, &size);
        assert(page);
        LOCK(&cache_lock);
        entry = find(url);
        if (entry) free(entry->page);
        else entry = add(url);
        entry->page = page;
        entry->length = size;
        UNLOCK(&cache_lock);
    }
    const char *page = entry->page;
    size = entry->length;
    /* The headers and what they announce, one after the other. */
    const char *body = strstr(page, "\r\n\r\n") + 4;
    send_all(client, page, (size_t)(body - page));
    send_all(client, body, size - (size_t)(body - page));
}
#endif

/* -- connections ------------------------------------------------------------------------ */

static void *serve(void *argument) {
    int client = (int)(long)argument;
    char request[2048], url[512];
    size_t length = 0;
    while (length < sizeof request - 1) {
        ssize_t got = read(client, request + length, sizeof request - 1 - length);
        if (got <= 0) break;
        length += (size_t)got;
        request[length] = 0;
        if (strstr(request, "\r\n\r\n")) break;
    }
    if (sscanf(request, "GET %511s", url) == 1) send_page(client, url);
    close(client);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int connections = atoi(argv[2]);
    pthread_t threads[connections];
    for (int i = 0; i < connections; i++) {
        int client = accept(atoi(argv[1]), NULL, NULL);
        if (client < 0) return 1;
        pthread_create(&threads[i], NULL, serve, (void *)(long)client);
    }
    for (int i = 0; i < connections; i++) pthread_join(threads[i], NULL);
    assert(hits + misses == connections);
    /* No page is kept twice. */
    for (struct entry *entry = cache; entry; entry = entry->next)
        for (struct entry *other = entry->next; other; other = other->next)
            assert(strcmp(entry->url, other->url));
    return 0;
}
