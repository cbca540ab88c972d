/* Regular files: they never block, but what one task writes another may read. */
#ifndef BOHRBUG_FILES_H
#define BOHRBUG_FILES_H

#include <stdint.h>
#include <sys/stat.h>

#include "segment.h"

/* The current task is about to look at what is in the file of a descriptor (INSPECT), or to change that or
 * the position in it (SET).  Of a device and a folder only closing counts as a change. */
void file_operation(enum kind kind, int fd, uint64_t site);
/* It is about to close a descriptor, or to make another one of it. */
void file_closing(int fd, uint64_t site);
/* The same of the file that a path leads to, if there is one. */
void file_operation_at(enum kind kind, int folder, const char *path, uint64_t site);
/* It is about to look whether there is something of that name, or to change that; a relative path
 * depends on where the process stands, too. */
void file_name_operation(enum kind kind, int folder, const char *path, uint64_t site);
/* Its next operation, on something else, depends on that name. */
void file_name_beside(int folder, const char *path, uint64_t site);
/* Names a file in every process: no inode of another device, and nothing that is told by a small number. */
static inline uint64_t key_of_file(const struct stat *status) {
    return status->st_ino ^ (uint64_t)status->st_dev * 0x9E3779B97F4A7C15ULL;
}
/* What opening a file does, by its flags. */
void file_opening(int folder, const char *path, int flags, uint64_t site);

#endif
