/* Two programs that were started anew count in memory that they share, and let go of the spin lock in between; FIXED: they
 * keep it. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared {
    pthread_spinlock_t lock;
    int count;
};

static void counts(struct shared *shared) {
    pthread_spin_lock(&shared->lock);
    int before = shared->count;
#ifndef FIXED
    pthread_spin_unlock(&shared->lock);
    pthread_spin_lock(&shared->lock);
#endif
    shared->count = before + 1;
    pthread_spin_unlock(&shared->lock);
}

int main(int count, char **arguments) {
    int file = count > 1 ? atoi(arguments[1]) : memfd_create("spin_lock", 0);
    if (count == 1 && ftruncate(file, sizeof(struct shared)) < 0) return 1;
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (count > 1) {
        counts(shared);
        return 0;
    }
    pthread_spin_init(&shared->lock, PTHREAD_PROCESS_SHARED);
    char number[16];
    snprintf(number, sizeof number, "%d", file);
    for (int i = 0; i < 2; i++) {
        if (fork()) continue;
        execl(arguments[0], arguments[0], number, (char *)NULL);
        _exit(2);
    }
    while (wait(NULL) > 0) continue;
    assert(shared->count == 2);
    return 0;
}
