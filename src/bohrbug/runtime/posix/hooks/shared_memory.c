#include "shared_memory.h"

#include <sys/ipc.h>
#include <sys/shm.h>

#include "next.h"
#include "races.h"
#include "shadow.h"

#define EXPORT __attribute__((visibility("default")))
#define MOST_RANGES 64

static struct {
    uint64_t from, to;
} ranges[MOST_RANGES];
static uint32_t count;
bool shares_memory;

void memory_is_shared(const void *address, size_t size) {
    uint64_t from = (uint64_t)(uintptr_t)address, to = from + size;
    shares_memory = true;
    if (count < MOST_RANGES) {
        ranges[count].from = from;
        ranges[count++].to = to;
        return;
    }
    /* The last one stands for all that have no room: more places become points than need be. */
    if (from < ranges[MOST_RANGES - 1].from) ranges[MOST_RANGES - 1].from = from;
    if (to > ranges[MOST_RANGES - 1].to) ranges[MOST_RANGES - 1].to = to;
}

bool is_in_shared_memory(uint64_t address) {
    for (uint32_t i = 0; i < count; i++)
        if (address >= ranges[i].from && address < ranges[i].to) return true;
    return false;
}

void note_if_shared(uint64_t address, uint64_t place) {
    if (control->segment()->processes > 1 && is_in_shared_memory(address)) shared_place(place);
}

EXPORT void *shmat(int number, const void *wanted, int flags) {
    static void *(*real)(int, const void *, int);
    if (!real) real = (void *(*)(int, const void *, int))next("shmat");
    void *memory = real(number, wanted, flags);
    struct shmid_ds status;
    if (memory != (void *)-1 && shmctl(number, IPC_STAT, &status) == 0)
        memory_is_shared(memory, status.shm_segsz);
    return memory;
}
