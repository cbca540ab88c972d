#include "stack.h"

#include <execinfo.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "program_stack.h"
#include "task.h"

__thread struct stopped_before stopped_before;
/* The path of the program itself. */
static char program[sizeof((struct module *)NULL)->path];

static uint32_t record(void) {
    uint64_t *pool = TABLE(uint64_t, stacks);
    if (segment->stacks_used + STACK_DEPTH + 1 > segment->most_stacks) return NONE;
    void *frames[STACK_DEPTH];
    inside++;
    int depth = backtrace(frames, STACK_DEPTH);
    inside--;
    uint32_t at = segment->stacks_used;
    pool[at] = (uint64_t)depth;
    for (int i = 0; i < depth; i++) {
        uint64_t place = (uint64_t)(uintptr_t)frames[i];
        bool is_stopped = place && place == stopped_before.instruction;
        pool[at + 1 + (uint32_t)i] = is_stopped ? stopped_before.end : place;
    }
    segment->stacks_used += (uint32_t)depth + 1;
    return at;
}

uint32_t stack_record(void) { return segment->with_stacks ? record() : NONE; }

bool stack_is_wanted(void) {
    return segment->steps < FIRST_STACKS || segment->steps + LAST_STACKS > segment->with_stacks;
}

void stack_prepare(void) {
    void *frames[2];
    inside++;
    backtrace(frames, 2);
    inside--;
    program_stack_begin();
    /* Once, and not in each execution. */
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) *program = 0;
}

/* How many modules had ever been loaded when they were written down last. */
static unsigned long long loaded;

static int add_module(struct dl_phdr_info *info, size_t size, void *only_if_new) {
    (void)size;
    if (only_if_new && info->dlpi_adds == loaded) return 1;
    uint64_t start = UINT64_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD) continue;
        uint64_t from = info->dlpi_addr + header->p_vaddr;
        if (from < start) start = from;
        if (from + header->p_memsz > end) end = from + header->p_memsz;
    }
    for (uint32_t i = 0; i < segment->modules; i++)
        if (MODULES[i].start == start && MODULES[i].process == this_process) return 0;
    if (segment->modules >= segment->most_modules) return 1;
    struct module *module = &MODULES[segment->modules++];
    module->base = info->dlpi_addr;
    module->start = start;
    module->end = end;
    module->process = this_process;
    if (info->dlpi_name && *info->dlpi_name) {
        strncpy(module->path, info->dlpi_name, sizeof module->path - 1);
    } else {
        memcpy(module->path, program, sizeof program);
    }
    module->is_shim = *module->path && strstr(segment->shim, module->path) != NULL;
    return 0;
}

static int count_loaded(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size;
    (void)unused;
    loaded = info->dlpi_adds;
    return 1;
}

void modules_record(void) {
    inside++;
    dl_iterate_phdr(add_module, NULL);
    dl_iterate_phdr(count_loaded, NULL);
    inside--;
}

void modules_record_new(void) {
    static const bool only_if_new = true;
    inside++;
    if (dl_iterate_phdr(add_module, (void *)(uintptr_t)&only_if_new) == 0)
        dl_iterate_phdr(count_loaded, NULL);
    inside--;
}
