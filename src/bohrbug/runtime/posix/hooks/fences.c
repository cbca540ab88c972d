#include "fences.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

#define FENCE "__tsan_atomic_thread_fence"

struct names {
    const char *text;
    size_t size;
};

/* The names that a module exports and imports. */
static struct names names_of(const struct dl_phdr_info *info) {
    struct names names = {NULL, 0};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *entry =
            (const ElfW(Dyn) *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++) {
            /* The loader has mostly made an address of it. */
            uintptr_t at = entry->d_un.d_ptr;
            if (entry->d_tag == DT_STRTAB)
                names.text = (const char *)(at < info->dlpi_addr ? info->dlpi_addr + at : at);
            if (entry->d_tag == DT_STRSZ) names.size = entry->d_un.d_val;
        }
    }
    return names;
}

static bool is_ours(const struct dl_phdr_info *info) {
    uintptr_t here = (uintptr_t)&calls_fences;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (here >= start && here < start + info->dlpi_phdr[i].p_memsz) return true;
    }
    return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    if (is_ours(info)) return 0;
    struct names names = names_of(info);
    if (!names.text || !memmem(names.text, names.size, FENCE, sizeof FENCE)) return 0;
    *(bool *)found = true;
    return 1;
}

bool calls_fences(void) {
    bool found = false;
    dl_iterate_phdr(look, &found);
    return found;
}
