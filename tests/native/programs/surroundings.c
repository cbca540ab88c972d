/* Tells where it finds itself: its session, its input and its output, and what it gets from there. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void run_threads(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

static void tell_session(void) {
    printf("leads its session: %d, its group: %d, %d\n", getsid(0) == getpid(),
           getpgrp() == getpid(), getpgid(0) == getpid());
}

/* As those do that want to know without a system call of that name. */
static void tell_status(void) {
    int pid, group, session;
    FILE *file = fopen("/proc/self/stat", "r");
    if (!file || fscanf(file, "%d %*s %*c %*d %d %d", &pid, &group, &session) != 3) exit(1);
    fclose(file);
    printf("the kernel says: %d, %d\n", session == pid, group == pid);
}

static void tell_positions(void) {
    long input = lseek(0, 0, SEEK_CUR), output = lseek(1, 0, SEEK_CUR);
    printf("input at %ld, output at %ld, errors at %ld\n", input, output,
           (long)lseek(2, 0, SEEK_CUR));
}

static void read_some(void) {
    char bytes[8] = "";
    if (read(0, bytes, 7) < 0) exit(1);
    printf("read %s\n", bytes);
}

static void read_lines(void) {
    char line[100] = "";
    for (int i = 0; i < 3; i++)
        if (fgets(line, sizeof line, stdin)) printf("line %s", line);
}

static void read_all(void) {
    size_t count = 0;
    while (getchar() != EOF) count++;
    printf("%zu bytes\n", count);
}

static void print_much(void) {
    for (int i = 0; i < 400; i++) {
        printf("a line of output, number %d\n", i);
        fprintf(stderr, "a line of errors, number %d\n", i);
    }
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*function)(void);
    } known[] = {{"session", tell_session}, {"status", tell_status}, {"positions", tell_positions},
                 {"some", read_some},       {"lines", read_lines},   {"all", read_all},
                 {"much", print_much}};
    for (int i = 1; i < count; i++) {
        run_threads();
        for (size_t j = 0; j < sizeof known / sizeof *known; j++)
            if (!strcmp(words[i], known[j].name)) known[j].function();
    }
    return 0;
}
