/* Two processes and what they wait for in the kernel: locks of files, a queue and a semaphore of System V,
 * a queue of POSIX.  The child keeps the lock, or has the parent wait for its message, while it sleeps. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct message {
    long type;
    char text;
};

static int end(int failed) {
    int status = 1;
    return wait(&status) < 0 || status || failed;
}

static int with_flock(const char *name) {
    int ends[2], own = open(name, O_CREAT | O_RDWR, 0600);
    char byte;
    if (own < 0 || pipe(ends)) return 2;
    if (fork() == 0) {
        int its = open(name, O_RDWR);
        if (flock(its, LOCK_EX) || write(ends[1], "x", 1) != 1) _exit(1);
        sleep(1);
        _exit(close(its));
    }
    return end(read(ends[0], &byte, 1) != 1 || flock(own, LOCK_EX) || flock(own, LOCK_UN));
}

static int with_fcntl(const char *name) {
    int ends[2], own = open(name, O_CREAT | O_RDWR, 0600);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char byte;
    if (own < 0 || pipe(ends)) return 2;
    if (fork() == 0) {
        if (fcntl(own, F_SETLKW, &lock) || write(ends[1], "x", 1) != 1) _exit(1);
        sleep(1);
        _exit(lockf(own, F_ULOCK, 0));
    }
    return end(read(ends[0], &byte, 1) != 1 || fcntl(own, F_SETLKW, &lock) || lockf(own, F_LOCK, 0));
}

static int with_queue(void) {
    struct message message = {1, 'x'}, got = {0, 0};
    int queue = msgget(IPC_PRIVATE, 0600);
    if (fork() == 0) {
        sleep(1);
        _exit(msgsnd(queue, &message, 1, 0));
    }
    int failed = end(msgrcv(queue, &got, 1, 0, 0) != 1 || got.text != 'x');
    return msgctl(queue, IPC_RMID, NULL) || failed;
}

static int with_semaphore(void) {
    struct sembuf up = {0, 1, 0}, down = {0, -1, 0};
    int set = semget(IPC_PRIVATE, 1, 0600);
    if (fork() == 0) {
        sleep(1);
        _exit(semop(set, &up, 1));
    }
    int failed = end(semop(set, &down, 1));
    return semctl(set, 0, IPC_RMID) || failed;
}

/* The child fills a queue that has room for one message, and waits for room; the parent for messages, and then
 * for one that nobody sends. */
static int with_messages(void) {
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    struct timespec soon;
    char name[64], text[8], all[4] = "";
    snprintf(name, sizeof name, "/bohrbug-%d", (int)getpid());
    mqd_t queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attributes);
    if (queue < 0 || mq_unlink(name)) return 2;
    if (fork() == 0) {
        for (char letter = 'a'; letter < 'd'; letter++)
            if (mq_send(queue, &letter, 1, 0)) exit(1);
        exit(0);
    }
    for (int i = 0; i < 3; i++) {
        struct pollfd ready = {queue, POLLIN, 0};
        if (i == 1 && poll(&ready, 1, -1) != 1) return 3;
        if (mq_receive(queue, text, sizeof text, NULL) != 1) return 4;
        all[i] = *text;
    }
    if (strcmp(all, "abc") || mq_receive(queue, text, 1, NULL) == 0 || errno != EMSGSIZE) return 5;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 3600;
    if (mq_timedreceive(queue, text, sizeof text, NULL, &soon) == 0 || errno != ETIMEDOUT) return 6;
    soon.tv_nsec = -1;
    if (mq_timedreceive(queue, text, sizeof text, NULL, &soon) == 0 || errno != EINVAL) return 7;
    attributes.mq_flags = O_NONBLOCK;
    if (mq_setattr(queue, &attributes, NULL) || mq_receive(queue, text, sizeof text, NULL) == 0) return 8;
    return end(errno != EAGAIN);
}

/* Waits for a lock that nobody of the test has. */
static int of_open_file(const char *name) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int own = open(name, O_RDWR);
    return own < 0 || fcntl(own, F_OFD_SETLKW, &lock);
}

/* Each has one of two locks, and wants the other one. */
static int crosswise(const char *name) {
    char names[2][256];
    for (int i = 0; i < 2; i++) snprintf(names[i], sizeof names[i], "%s.%d", name, i);
    int is_child = fork() == 0;
    for (int i = 0; i < 2; i++) {
        int file = open(names[i ^ is_child], O_CREAT | O_RDWR, 0600);
        if (file < 0 || flock(file, LOCK_EX)) return 2;
    }
    return is_child ? 0 : end(0);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    if (strcmp(argv[1], "flock") == 0) return with_flock(argv[2]);
    if (strcmp(argv[1], "fcntl") == 0) return with_fcntl(argv[2]);
    if (strcmp(argv[1], "queue") == 0) return with_queue();
    if (strcmp(argv[1], "semaphore") == 0) return with_semaphore();
    if (strcmp(argv[1], "open-file") == 0) return of_open_file(argv[2]);
    if (strcmp(argv[1], "messages") == 0) return with_messages();
    return crosswise(argv[2]);
}
