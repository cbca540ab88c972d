/* Two tasks make, find and remove what is known by its name, or change who may use it; "checked" does it in
 * two steps, "at-once" in one, in which the kernel decides. */
#include <assert.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

static char name[64];
static key_t key;
static atomic_int makers;
static const char *what;
static bool at_once, missed, exposed;

static bool open_object(int flags) {
    struct mq_attr size = {.mq_maxmsg = 1, .mq_msgsize = 8};
    int exclusive = flags & O_EXCL ? IPC_EXCL : 0, of_key = flags & O_CREAT ? IPC_CREAT | exclusive | 0600 : 0;
    if (!strcmp(what, "semaphore")) return sem_open(name, flags & ~O_RDWR, 0600, 1) != SEM_FAILED;
    if (!strcmp(what, "memory")) return shm_open(name, flags, 0600) >= 0;
    if (!strcmp(what, "queue")) return mq_open(name, flags, 0600, &size) >= 0;
    if (!strcmp(what, "keys-semaphore")) return semget(key, 1, of_key) >= 0;
    if (!strcmp(what, "keys-memory")) return shmget(key, 64, of_key) >= 0;
    return msgget(key, of_key) >= 0;
}

static void remove_object(void) {
    if (!strcmp(what, "semaphore")) sem_unlink(name);
    else if (!strcmp(what, "memory")) shm_unlink(name);
    else if (!strcmp(what, "queue")) mq_unlink(name);
    else if (!strcmp(what, "keys-semaphore")) semctl(semget(key, 1, 0), 0, IPC_RMID);
    else if (!strcmp(what, "keys-memory")) shmctl(shmget(key, 64, 0), IPC_RMID, NULL);
    else msgctl(msgget(key, 0), IPC_RMID, NULL);
}

static void *make(void *unused) {
    if (at_once) makers += open_object(O_CREAT | O_EXCL | O_RDWR);
    else if (!open_object(O_RDWR)) makers += open_object(O_CREAT | O_RDWR);
    return unused;
}

static void *make_file(void *unused) {
    int fd = open(name, O_CREAT | O_WRONLY, at_once ? 0600 : 0644);
    if (!strcmp(what, "rights")) fchmod(fd, 0600);
    else chmod(name, 0600);
    close(fd);
    return unused;
}

static void *look_at_file(void *unused) {
    struct stat status;
    exposed = stat(name, &status) == 0 && status.st_mode & 077;
    return unused;
}

static void *remove_it(void *unused) {
    remove_object();
    return unused;
}

static void *find_it(void *unused) {
    missed = !open_object(O_RDWR);
    return unused;
}

static void both(void *(*one)(void *), void *(*other)(void *)) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, other, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

int main(int argc, char **argv) {
    assert(argc == 3);
    what = argv[1];
    at_once = !strcmp(argv[2], "at-once");
    key = 0x42000000 | getpid();
    bool is_file = !strcmp(what, "rights") || !strcmp(what, "rights-by-name");
    snprintf(name, sizeof name, "%s/bohrbug-names-%d", is_file ? "/tmp" : "", (int)getpid());
    if (is_file) {
        umask(0);
        unlink(name);
        both(make_file, look_at_file);
        unlink(name);
        assert(!exposed);
    } else if (!strcmp(argv[2], "removed")) {
        open_object(O_CREAT | O_RDWR);
        both(find_it, remove_it);
        assert(!missed);
    } else {
        remove_object();
        both(make, make);
        remove_object();
        assert(makers == 1);
    }
    return 0;
}
