#include "touching.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "populate.h"
#include "segment.h"

#define PAGE ((uintptr_t)4096)
/* Of files, and of the segment, the kernel maps so much around the page that is asked for. */
#define AROUND (16 * PAGE)
/* Of large programs most is not needed. */
#define MOST_BLOCKS 64
#define MOST_PAGES 64

struct budget {
    unsigned blocks, pages;
};

/* Linux 5.14; where that is not known, or memory is not what its module says, all is as before. */
static void populate(uintptr_t from, uintptr_t to, int advice) {
    madvise((void *)from, to - from, advice);
}

static uintptr_t page_of(const struct dl_phdr_info *info, uint64_t address) {
    return (info->dlpi_addr + address) & ~(PAGE - 1);
}

static void touch_code(uintptr_t from, uintptr_t to, struct budget *left) {
    for (; from < to && left->blocks; from += AROUND, left->blocks--)
        populate(from, from + PAGE, MADV_POPULATE_READ);
}

/* Pages that the waiting program has used; each process gets a copy when it writes. */
static void touch_data(uintptr_t from, uintptr_t to, struct budget *left) {
    unsigned char is_there[MOST_PAGES];
    uintptr_t most = from + left->pages * PAGE;
    if (to > most) to = most;
    if (from >= to || mincore((void *)from, to - from, is_there)) return;
    for (uintptr_t page = from; page < to; page += PAGE) {
        if (!is_there[(page - from) / PAGE]) continue;
        uintptr_t first = page;
        while (page < to && is_there[(page - from) / PAGE]) page += PAGE;
        populate(first, page, MADV_POPULATE_WRITE);
        left->pages -= (unsigned)((page - first) / PAGE);
    }
}

static int touch_module(struct dl_phdr_info *info, size_t size, void *left) {
    (void)size;
    const ElfW(Phdr) *headers = info->dlpi_phdr, *sealed = NULL;
    /* What is read only once it is relocated. */
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (headers[i].p_type == PT_GNU_RELRO) sealed = &headers[i];
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &headers[i];
        if (header->p_type != PT_LOAD) continue;
        uint64_t from = header->p_vaddr, to = from + header->p_memsz;
        if (header->p_flags & PF_X) touch_code(page_of(info, from), info->dlpi_addr + to, left);
        if (!(header->p_flags & PF_W)) continue;
        if (sealed && sealed->p_vaddr < to && sealed->p_vaddr + sealed->p_memsz > from)
            from = sealed->p_vaddr + sealed->p_memsz + PAGE - 1;
        touch_data(page_of(info, from), info->dlpi_addr + to, left);
    }
    return 0;
}

void touch_memory(void) {
    struct budget left = {MOST_BLOCKS, MOST_PAGES};
    dl_iterate_phdr(touch_module, &left);
    const struct tables *at = &segment->at;
    const uint64_t used[] = {0, at->tasks, at->resources, at->processes, at->modules, at->steps,
                             at->pool};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++) {
        uintptr_t page = (uintptr_t)segment + used[i];
        populate(page, page + PAGE, MADV_POPULATE_READ);
    }
}
