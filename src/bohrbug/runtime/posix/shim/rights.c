#include "rights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "segment.h"

/* Descriptors from here on are hardly those that the program expects to get. */
#define FIRST_DESCRIPTOR 860
#define OWN_DESCRIPTORS "/proc/self/fd/"

static int kept = -1;
static char path_of_kept[32];

static void keep(int fd) {
    kept = fd;
    snprintf(path_of_kept, sizeof path_of_kept, OWN_DESCRIPTORS "%d", fd);
}

void rights_change(void) {
    if (!segment || kept >= 0) return;
    int error = errno;
    int low = (int)syscall(SYS_openat, AT_FDCWD, segment->path, O_RDWR | O_CLOEXEC);
    int high = low < 0 ? -1 : (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    if (low >= 0) syscall(SYS_close, low);
    if (high >= 0) keep(high);
    errno = error;
}

void rights_opened(const char *path) {
    if (strncmp(path, OWN_DESCRIPTORS, strlen(OWN_DESCRIPTORS)) != 0) return;
    keep(atoi(path + strlen(OWN_DESCRIPTORS)));
    syscall(SYS_fcntl, kept, F_SETFD, FD_CLOEXEC);
}

/* Programs that close all descriptors close this one, too. */
static bool is_kept(void) { return kept >= 0 && syscall(SYS_fcntl, kept, F_GETFD) >= 0; }

int rights_descriptor(void) {
    if (!is_kept()) kept = -1;
    rights_change();
    return kept;
}

const char *rights_path(void) {
    if (!is_kept()) return segment->path;
    syscall(SYS_fcntl, kept, F_SETFD, 0);
    return path_of_kept;
}

/* Of paths with colons in between. */
static bool may_read_all(const char *paths) {
    char path[512];
    while (*paths) {
        size_t length = strcspn(paths, ":");
        snprintf(path, sizeof path, "%.*s", (int)length, paths);
        if (length && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) < 0) return false;
        paths += length + (paths[length] == ':');
    }
    return true;
}

bool rights_suffice(void) {
    int error = errno;
    bool suffice = (is_kept() || faccessat(AT_FDCWD, segment->path, R_OK | W_OK, AT_EACCESS) == 0) &&
                   may_read_all(segment->shim);
    errno = error;
    return suffice;
}
