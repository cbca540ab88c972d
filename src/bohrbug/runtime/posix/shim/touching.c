#include "touching.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "populate.h"
#include "segment.h"

#define PAGE ((uintptr_t)4096)
/* Of files the kernel maps so much around the page that is asked for. */
#define AROUND (16 * PAGE)
/* Of large programs most is not needed. */
#define MOST_BLOCKS 64
#define MOST_PAGES 64
#define MOST_RANGES 32

struct budget {
    unsigned blocks, pages;
};

/* What the waiting program has written to: each fork gets a copy when it writes. */
static struct range {
    uintptr_t from, to;
} written[MOST_RANGES];
static unsigned written_count;

static uintptr_t page_of(const struct dl_phdr_info *info, uint64_t address) {
    return (info->dlpi_addr + address) & ~(PAGE - 1);
}

static void touch_file(uintptr_t from, uintptr_t to, struct budget *left) {
    for (; from < to && left->blocks; from += AROUND, left->blocks--)
        populate(from, from + PAGE, MADV_POPULATE_READ);
}

/* A fork finds the code of a file only if a page of it is a copy; else it has to ask for each page again.
 * Where memory may not be changed, it does.  For data, of which few pages are read, that does not pay. */
static void let_forks_find(uintptr_t from, uintptr_t to) {
    volatile char *first = (volatile char *)from;
    if (mprotect((void *)from, to - from, PROT_READ | PROT_WRITE | PROT_EXEC)) return;
    *first = *first;
    mprotect((void *)from, to - from, PROT_READ | PROT_EXEC);
}

static void note_written(uintptr_t from, uintptr_t to, struct budget *left) {
    unsigned char is_there[MOST_PAGES];
    uintptr_t most = from + left->pages * PAGE;
    if (to > most) to = most;
    if (from >= to || mincore((void *)from, to - from, is_there)) return;
    for (uintptr_t page = from; page < to && written_count < MOST_RANGES; page += PAGE) {
        if (!is_there[(page - from) / PAGE]) continue;
        uintptr_t first = page;
        while (page < to && is_there[(page - from) / PAGE]) page += PAGE;
        written[written_count++] = (struct range){first, page};
        left->pages -= (unsigned)((page - first) / PAGE);
    }
}

static int look_at_module(struct dl_phdr_info *info, size_t size, void *left) {
    (void)size;
    const ElfW(Phdr) *headers = info->dlpi_phdr, *sealed = NULL;
    /* The kernel's own has no file. */
    if (page_of(info, 0) == getauxval(AT_SYSINFO_EHDR)) return 0;
    /* What is read only once it is relocated. */
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (headers[i].p_type == PT_GNU_RELRO) sealed = &headers[i];
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &headers[i];
        if (header->p_type != PT_LOAD) continue;
        uint64_t from = header->p_vaddr, to = from + header->p_memsz;
        if (header->p_flags & PF_X) {
            touch_file(page_of(info, from), info->dlpi_addr + to, left);
            /* Memory that the program changes itself is a copy anyway, or may become one. */
            if (!(header->p_flags & PF_W))
                let_forks_find(page_of(info, from), info->dlpi_addr + to);
        }
        if (!(header->p_flags & PF_W)) continue;
        if (sealed && sealed->p_vaddr < to && sealed->p_vaddr + sealed->p_memsz > from)
            from = sealed->p_vaddr + sealed->p_memsz + PAGE - 1;
        note_written(page_of(info, from), info->dlpi_addr + to, left);
    }
    return 0;
}

void touch_before_forks(void) {
    struct budget left = {MOST_BLOCKS, MOST_PAGES};
    dl_iterate_phdr(look_at_module, &left);
}

void touch_in_fork(void) {
    for (unsigned i = 0; i < written_count; i++)
        populate(written[i].from, written[i].to, MADV_POPULATE_WRITE);
}

void touch_segment(void) {
    const struct tables *at = &segment->at;
    const uint64_t used[] = {0, at->tasks, at->resources, at->processes, at->modules, at->steps,
                             at->pool};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++) {
        uintptr_t page = (uintptr_t)segment + used[i];
        populate(page, page + PAGE, MADV_POPULATE_READ);
    }
}
