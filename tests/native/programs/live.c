/* What programs that run live may do, by the first argument; the second says how often. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int times;
static long total;

static void run(int count, void *(*work)(void *)) {
    pthread_t threads[8];
    for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, work, (void *)(long)i);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

/* Between its two critical sections another task may take the same connection. */
static int used[3];

static void *use_pool(void *nothing) {
    for (int i = 0; i < times; i++) {
        int found = -1;
        pthread_mutex_lock(&lock);
        for (int j = 0; j < 3; j++)
            if (!used[j]) found = j;
        pthread_mutex_unlock(&lock);
        if (found < 0) continue;
        pthread_mutex_lock(&lock);
        assert(!used[found]);
        used[found] = 1;
        pthread_mutex_unlock(&lock);
        pthread_mutex_lock(&lock);
        used[found] = 0;
        pthread_mutex_unlock(&lock);
    }
    return nothing;
}

static void *lock_both(void *number) {
    pthread_mutex_t *first = number ? &lock : &other, *second = number ? &other : &lock;
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(first);
        pthread_mutex_lock(second);
        pthread_mutex_unlock(second);
        pthread_mutex_unlock(first);
    }
    return number;
}

static void *count_up(void *nothing) {
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(&lock);
        total++;
        pthread_mutex_unlock(&lock);
    }
    return nothing;
}

static void *lose_updates(void *nothing) {
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(&lock);
        long before = total;
        pthread_mutex_unlock(&lock);
        pthread_mutex_lock(&lock);
        total = before + 1;
        pthread_mutex_unlock(&lock);
    }
    return nothing;
}

static void *race(void *nothing) {
    for (int i = 0; i < times; i++) total++;
    return nothing;
}

/* Each line once, whatever copies there are. */
static int file;

static void *write_lines(void *number) {
    pid_t process = getpid();
    for (int i = 0; i < times; i++) {
        char line[32];
        int length = snprintf(line, sizeof line, "%ld %d\n", (long)number, i);
        pthread_mutex_lock(&lock);
        assert(write(file, line, (size_t)length) == length);
        pthread_mutex_unlock(&lock);
        for (int j = 0; j < 30; j++) count_up(NULL);
        assert(getpid() == process);
    }
    return number;
}

static volatile sig_atomic_t told;

static void on_child(int number) { told += number == SIGCHLD; }

static void *start_children(void *number) {
    if (number) return count_up(number);
    for (int i = 0; i < 3; i++) {
        int status = -1;
        pid_t child = fork();
        if (!child) _exit(i);
        assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == i);
        count_up(NULL);
    }
    return number;
}

static void *add_one(void *number) {
    pthread_mutex_t *own = malloc(sizeof *own);
    pthread_mutex_init(own, NULL);
    pthread_mutex_lock(own);
    pthread_mutex_lock(&lock);
    total++;
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(own);
    pthread_mutex_destroy(own);
    free(own);
    return number;
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    times = count > 2 ? atoi(words[2]) : 1;
    if (!strcmp(what, "pool")) {
        run(3, use_pool);
    } else if (!strcmp(what, "deadlock")) {
        run(2, lock_both);
    } else if (!strcmp(what, "fine")) {
        run(3, count_up);
        printf("%ld\n", total);
        fprintf(stderr, "last\n");
        return 7;
    } else if (!strcmp(what, "lost")) {
        run(3, lose_updates);
        return total != 3L * times;
    } else if (!strcmp(what, "race")) {
        run(2, race);
    } else if (!strcmp(what, "lines")) {
        file = open("lines.txt", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
        int rounds = times;
        times = 1;
        run(1, count_up);
        times = rounds;
        run(3, write_lines);
    } else if (!strcmp(what, "children")) {
        signal(SIGCHLD, on_child);
        run(3, start_children);
        assert(waitpid(-1, NULL, WNOHANG) == -1);
        printf("told %d times\n", (int)told);
    } else if (!strcmp(what, "threads")) {
        for (int i = 0; i < times; i++) run(4, add_one);
        printf("%ld\n", total);
    } else if (!strcmp(what, "threads then pool")) {
        for (int i = 0; i < 400; i++) run(4, add_one);
        run(3, use_pool);
    }
    return 0;
}
