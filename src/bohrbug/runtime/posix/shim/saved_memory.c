#include "saved_memory.h"

#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "own_call.h"
#include "segment.h"

/* As of snapshot.c. */
#if defined(__x86_64__)

#define PAGE ((uintptr_t)4096)
#define PAGES_AT_ONCE 1024
/* Of more memory than this hardly any is used, such as of the stacks of threads: it is given back. */
#define MOST_TO_LOOK_THROUGH ((uintptr_t)256 << 10)
/* ... which takes its time where there is very much of it. */
#define MOST_ABSENT ((uintptr_t)256 << 20)

/* Linux 6.11; the headers may be older. */
#define QUERY_COVERING_OR_NEXT 0x10
struct query {
    uint64_t size, flags, address;
    uint64_t start, end, mapping_flags, page_size, offset, inode;
    uint32_t major, minor, name_size, build_id_size;
    uint64_t name, build_id;
};
#define QUERY _IOWR('f', 17, struct query)

/* -- what is mapped ----------------------------------------------------------------------- */

static const char *read_hex(const char *at, uintptr_t *number) {
    *number = 0;
    for (;; at++) {
        if (*at >= '0' && *at <= '9') *number = *number << 4 | (uintptr_t)(*at - '0');
        else if (*at >= 'a' && *at <= 'f') *number = *number << 4 | (uintptr_t)(*at - 'a' + 10);
        else return at;
    }
}

/* The whole list, as text. */
static bool read_maps(struct saved_memory *memory) {
    size_t length = 0;
    if (OWN_CALL(SYS_lseek, memory->maps, 0, 0) < 0) return false;
    while (length < MAPS_LENGTH - 1) {
        long more = OWN_CALL(SYS_read, memory->maps, memory->text + length,
                             MAPS_LENGTH - 1 - length);
        if (more < 0) return false;
        if (more == 0) break;
        length += (size_t)more;
    }
    memory->text[length] = 0;
    return length < MAPS_LENGTH - 1;
}

/* A line of it; NULL at the end. */
static const char *next_line(const char *at, struct mapping *mapping, const char **flags,
                             const char **name) {
    if (!*at) return NULL;
    at = read_hex(at, &mapping->start);
    at = read_hex(at + 1, &mapping->end);
    *flags = at + 1;
    const char *end = at;
    while (*end && *end != '\n') end++;
    *name = end;
    for (const char *i = at; i < end; i++)
        if (*i == '/' || *i == '[') {
            *name = i;
            break;
        }
    return *end ? end + 1 : end;
}

static bool add(struct mapping *list, size_t *count, uintptr_t start, uintptr_t end) {
    if (*count && list[*count - 1].end == start) {
        list[*count - 1].end = end;
        return true;
    }
    if (*count == MOST_MAPPINGS) return false;
    list[(*count)++] = (struct mapping){start, end};
    return true;
}

/* -- saving ------------------------------------------------------------------------------- */

static bool add_piece(struct saved_memory *memory, uintptr_t start, uintptr_t end) {
    size_t length = end - start;
    if (memory->copied + length > MOST_SAVED || memory->piece_count == MOST_MAPPINGS) return false;
    memory->pieces[memory->piece_count++] =
        (struct piece){start, length, memory->copies + memory->copied};
    memory->copied += length;
    return true;
}

/* Memory of no file: what nobody has used is not there yet. */
static bool survey_anonymous(struct saved_memory *memory, uintptr_t start, uintptr_t end) {
    unsigned char is_there[PAGES_AT_ONCE];
    if (end - start > MOST_ABSENT) return false;
    while (start < end) {
        uintptr_t until = end - start > PAGES_AT_ONCE * PAGE ? start + PAGES_AT_ONCE * PAGE : end;
        if (OWN_CALL(SYS_mincore, start, until - start, is_there) < 0) return false;
        for (uintptr_t page = start; page < until;) {
            uintptr_t first = page;
            bool there = is_there[(page - start) / PAGE] & 1;
            while (page < until && (is_there[(page - start) / PAGE] & 1) == there) page += PAGE;
            bool fits = there ? add_piece(memory, first, page)
                              : add(memory->absent, &memory->absent_count, first, page);
            if (!fits) return false;
        }
        start = until;
    }
    return true;
}

bool memory_survey(struct saved_memory *memory, int maps) {
    memory->maps = maps;
    memory->faults = -1;
    /* Large pages would be made of small ones and of absent ones, without any fault. */
    if (OWN_CALL(SYS_prctl, PR_SET_THP_DISABLE, 1, 0) < 0) return false;
    struct query query = {.size = sizeof query, .flags = QUERY_COVERING_OR_NEXT};
    memory->has_queries = OWN_CALL(SYS_ioctl, maps, QUERY, &query) == 0;
    memory->break_at = (uintptr_t)OWN_CALL(SYS_brk, 0, 0, 0);
    if (!read_maps(memory)) return false;
    struct mapping mapping;
    const char *flags, *name, *at = memory->text;
    while ((at = next_line(at, &mapping, &flags, &name))) {
        if (mapping.start >> 63) continue; /* the kernel's own */
        if (!add(memory->known, &memory->known_count, mapping.start, mapping.end)) return false;
        if (strncmp(name, "[stack]", 7) == 0) memory->stack = mapping.start;
        uintptr_t own = (uintptr_t)memory;
        if (flags[1] != 'w' || (mapping.start <= own && own < mapping.end)) continue;
        if (flags[3] == 's') {
            if (mapping.start != (uintptr_t)segment) return false;
            continue;
        }
        bool fits = *name == '/' ? add_piece(memory, mapping.start, mapping.end)
                                 : survey_anonymous(memory, mapping.start, mapping.end);
        if (!fits) return false;
    }
    return memory->stack != 0;
}

void memory_save(struct saved_memory *memory) {
    for (size_t i = 0; i < memory->piece_count; i++) {
        const struct piece *piece = &memory->pieces[i];
        memcpy(piece->copy, (const void *)piece->start, piece->length);
    }
}

bool memory_is_known(const struct saved_memory *memory, uintptr_t start, size_t length) {
    for (size_t i = 0; i < memory->known_count; i++)
        if (start < memory->known[i].end && memory->known[i].start < start + length) return true;
    return start + length < start;
}

struct mapping memory_unknown(const struct saved_memory *memory) {
    struct mapping largest = {0, 0};
    for (size_t i = 1; i < memory->known_count; i++) {
        struct mapping between = {memory->known[i - 1].end, memory->known[i].start};
        if (between.end - between.start > largest.end - largest.start) largest = between;
    }
    return largest;
}

/* -- restoring ---------------------------------------------------------------------------- */

/* Where the first mapping in a range begins; its end if there is none. */
static uintptr_t first_mapped(struct saved_memory *memory, uintptr_t from, uintptr_t to,
                              const char **at) {
    struct mapping found;
    if (memory->has_queries) {
        struct query query = {
            .size = sizeof query, .flags = QUERY_COVERING_OR_NEXT, .address = from};
        if (OWN_CALL(SYS_ioctl, memory->maps, QUERY, &query) < 0) return to;
        found = (struct mapping){query.start, query.end};
    } else {
        const char *flags, *name, *next;
        while ((next = next_line(*at, &found, &flags, &name)) && found.end <= from) *at = next;
        if (!next) return to;
    }
    if (found.start < from) return from;
    return found.start < to ? found.start : to;
}

/* What is mapped between two known mappings was not there. */
static bool unmap_between(struct saved_memory *memory, uintptr_t from, uintptr_t to,
                          const char **at) {
    if (from >= to) return true;
    from = first_mapped(memory, from, to, at);
    return from == to || OWN_CALL(SYS_munmap, from, to - from, 0) == 0;
}

static bool unmap_new(struct saved_memory *memory) {
    if ((uintptr_t)OWN_CALL(SYS_brk, memory->break_at, 0, 0) != memory->break_at) return false;
    if (!memory->has_queries && !read_maps(memory)) return false;
    const char *at = memory->text;
    uintptr_t from = PAGE;
    for (size_t i = 0; i < memory->known_count; i++) {
        if (!unmap_between(memory, from, memory->known[i].start, &at)) return false;
        from = memory->known[i].end;
    }
    return true;
}

/* In a range that was absent; what is large is given back. */
static bool find_what_came(struct saved_memory *memory, uintptr_t start, uintptr_t end) {
    unsigned char is_there[PAGES_AT_ONCE];
    if (end - start > MOST_TO_LOOK_THROUGH)
        return OWN_CALL(SYS_madvise, start, end - start, MADV_DONTNEED) == 0;
    while (start < end) {
        uintptr_t until = end - start > PAGES_AT_ONCE * PAGE ? start + PAGES_AT_ONCE * PAGE : end;
        if (OWN_CALL(SYS_mincore, start, until - start, is_there) < 0) return false;
        for (uintptr_t page = start; page < until; page += PAGE)
            if (is_there[(page - start) / PAGE] & 1 &&
                !add(memory->came, &memory->came_count, page, page + PAGE))
                return false;
        start = until;
    }
    return true;
}

/* How often memory was not there that was touched; -1 if nobody knows. */
static long count_faults(void) {
    struct rusage usage;
    if (OWN_CALL(SYS_getrusage, RUSAGE_SELF, &usage, 0) < 0) return -1;
    return usage.ru_minflt + usage.ru_majflt;
}

bool memory_restore(struct saved_memory *memory) {
    if (!unmap_new(memory)) return false;
    /* Without a fault nothing more has come. */
    bool is_known = memory->faults >= 0 && memory->faults == count_faults();
    if (!is_known) memory->came_count = 0;
    for (size_t i = 0; !is_known && i < memory->absent_count; i++)
        if (!find_what_came(memory, memory->absent[i].start, memory->absent[i].end)) return false;
    for (size_t i = 0; i < memory->came_count; i++)
        memset((void *)memory->came[i].start, 0, memory->came[i].end - memory->came[i].start);
    for (size_t i = 0; i < memory->piece_count; i++) {
        const struct piece *piece = &memory->pieces[i];
        memcpy((void *)piece->start, piece->copy, piece->length);
    }
    if (!is_known) memory->faults = count_faults();
    return true;
}

#endif
