/* Functions of the C library, and calls of the kernel, that read and write memory which tasks share; with a second
 * argument under a lock. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *mode;
static int guarded, ends[2];
static char text[16] = "aaaaaaa";
static int numbers[3] = {3, 2, 1};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is(const char *name) { return strcmp(mode, name) == 0; }
static int by_value(const void *one, const void *other) { return *(const int *)one - *(const int *)other; }

static void *change(void *unused) {
    if (guarded) pthread_mutex_lock(&lock);
    if (is("strcpy")) strcpy(text, "bbbbbbb");
    if (is("strncpy")) strncpy(text, "bbbbbbb", 8);
    if (is("memcpy")) memcpy(text, "bbbbbbb", 8);
    if (is("snprintf")) snprintf(text, sizeof text, "%d", 7777777);
    if (is("read")) assert(read(ends[0], text, 7) == 7);
    if (is("write")) assert(write(ends[1], text, 7) == 7);
    if (is("qsort")) qsort(numbers, 3, sizeof *numbers, by_value);
    if (guarded) pthread_mutex_unlock(&lock);
    return unused;
}

static void *look(void *unused) {
    if (guarded) pthread_mutex_lock(&lock);
    if (is("write")) text[0] = text[6] = 'c';
    else if (is("qsort")) assert(numbers[0] + numbers[1] + numbers[2] == 6);
    else {
        char begin = text[0], end = text[6];
        assert(begin == end);
    }
    if (guarded) pthread_mutex_unlock(&lock);
    return unused;
}

int main(int count, char **arguments) {
    pthread_t one, other;
    char sent[7];
    mode = arguments[1];
    guarded = count > 2;
    assert(pipe(ends) == 0);
    if (is("read")) assert(write(ends[1], "bbbbbbb", 7) == 7);
    pthread_create(&one, NULL, change, NULL);
    pthread_create(&other, NULL, look, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    if (is("write")) assert(read(ends[0], sent, 7) == 7 && sent[0] == sent[6]);
    return 0;
}
