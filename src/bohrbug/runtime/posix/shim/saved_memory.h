/* The memory of a process at one moment, and how to get back to it. */
#ifndef BOHRBUG_SAVED_MEMORY_H
#define BOHRBUG_SAVED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More memory that can be written than this is not saved: copying it back would take longer than a
 * fork does. */
#define MOST_SAVED ((size_t)4 << 20)
#define MOST_MAPPINGS 512
#define MAPS_LENGTH ((size_t)128 << 10)

struct mapping {
    uintptr_t start, end;
};

/* Bytes that are copied back. */
struct piece {
    uintptr_t start;
    size_t length;
    char *copy;
};

/* Lies in memory that is not restored, with room for the copies behind it. */
struct saved_memory {
    int maps;                            /* a descriptor of /proc/self/maps */
    bool has_queries;                    /* the kernel answers single questions about it */
    uintptr_t break_at, stack;
    long faults;                         /* that the process has had when it was put back last, or -1 */
    size_t known_count, piece_count, absent_count, copied;
    struct mapping known[MOST_MAPPINGS]; /* all that there is, in order, neighbours as one */
    struct piece pieces[MOST_MAPPINGS];
    struct mapping absent[MOST_MAPPINGS]; /* what has no memory yet: it reads as zeros */
    size_t came_count;
    struct mapping came[MOST_MAPPINGS];  /* what of it has memory now, which is made zero each time */
    char text[MAPS_LENGTH];
    char copies[];
};

/* How much room it takes. */
#define SAVED_MEMORY_SIZE (sizeof(struct saved_memory) + MOST_SAVED)

/* Finds out what there is to save, before memory_save; false if it can't be restored.  `maps` is a
 * descriptor of /proc/self/maps. */
bool memory_survey(struct saved_memory *memory, int maps);
/* Copies it. */
void memory_save(struct saved_memory *memory);
/* Whether a range has to do with what there was. */
bool memory_is_known(const struct saved_memory *memory, uintptr_t start, size_t length);
/* The range of addresses, as large as there is one, in which nothing is known. */
struct mapping memory_unknown(const struct saved_memory *memory);
/* Back to what it was; to be called on a stack that is not part of it.  False if that can't be. */
bool memory_restore(struct saved_memory *memory);

#endif
