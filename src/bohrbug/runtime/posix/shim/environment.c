#include "environment.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reading.h"
#include "rights.h"
#include "segment.h"

#define PRELOAD "LD_PRELOAD="
#define SEGMENT "BOHRBUG_SEGMENT="

static bool begins_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

extern char **environ;

static bool is_named(const char *text, const char *name) {
    return begins_with(text, name) && text[strlen(name)] == '=';
}

const char *variable(const char *name) {
    for (char **at = environ; at && *at; at++)
        if (is_named(*at, name)) return *at + strlen(name) + 1;
    return NULL;
}

void forget_variable(const char *name) {
    char **kept = environ;
    for (char **at = environ; at && *at; at++)
        if (!is_named(*at, name)) *kept++ = *at;
    if (kept) *kept = NULL;
}

char *const *with_control(char *const *environment) {
    size_t count = 0, length = 0;
    const char *others = "", *path = rights_path();
    for (; environment && environment[count]; count++)
        if (begins_with(environment[count], PRELOAD)) others = environment[count] + strlen(PRELOAD);
    bool named = strstr(others, segment->shim) != NULL;
    length = strlen(PRELOAD) + strlen(segment->shim) + strlen(others) + strlen(SEGMENT) +
             strlen(path) + 8;
    size_t bytes = (count + 3) * sizeof(char *) + length;
    /* Not from malloc: the child of a vfork may not use it. */
    char **all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return environment;
    char *text = (char *)(all + count + 3);
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (!begins_with(environment[i], PRELOAD) && !begins_with(environment[i], SEGMENT))
            all[used++] = environment[i];
    all[used++] = text;
    text += 1 + sprintf(text, "%s%s%s%s", PRELOAD, named ? "" : segment->shim,
                        named || !*others ? "" : ":", others);
    all[used++] = text;
    sprintf(text, "%s%s", SEGMENT, path);
    all[used] = NULL;
    return all;
}

/* The program that the first line of a script names. */
static bool interpreter_of_script(const char *line, char *path) {
    line += 2 + strspn(line + 2, " \t");
    size_t length = strcspn(line, " \t\n");
    if (!length || length >= PATH_LENGTH) return false;
    memcpy(path, line, length);
    path[length] = 0;
    return true;
}

char *const *without_control(char *const *environment) {
    size_t count = 0, used = 0;
    while (environment && environment[count]) count++;
    size_t bytes = (count + 1) * sizeof(char *);
    char **all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return environment;
    for (size_t i = 0; i < count; i++) {
        char *text = environment[i];
        if (begins_with(text, SEGMENT)) continue;
        if (begins_with(text, PRELOAD) && begins_with(text + strlen(PRELOAD), segment->shim)) {
            /* The shim is the first of those that are preloaded. */
            const char *others = text + strlen(PRELOAD) + strlen(segment->shim);
            if (*others != ':') continue;
            text = mmap(NULL, strlen(text) + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);
            if (text == MAP_FAILED) continue;
            sprintf(text, "%s%s", PRELOAD, others + 1);
        }
        all[used++] = text;
    }
    all[used] = NULL;
    return all;
}

void environment_go_free(void) { environ = (char **)(uintptr_t)without_control(environ); }

/* Scripts may name scripts, as far as the kernel follows. */
#define MOST_INTERPRETERS 5

static bool has_known_format(const char *path, int depth) {
    char start[PATH_LENGTH + 8], interpreter[PATH_LENGTH];
    /* What may be executed, but not read, is the kernel's to judge. */
    if (access(path, R_OK) < 0) return true;
    long length = read_start(path, start, sizeof start);
    if (length >= SELFMAG && memcmp(start, ELFMAG, SELFMAG) == 0) return true;
    return begins_with(start, "#!") && depth < MOST_INTERPRETERS && interpreter_of_script(start, interpreter) &&
           access(interpreter, X_OK) == 0 && has_known_format(interpreter, depth + 1);
}

bool can_be_executed(const char *path) { return has_known_format(path, 0); }

/* Not another C library's, for which the shim is not made. */
static bool is_loader_of_ours(const char *path, size_t length) {
    static const char other[] = "/ld-musl-";
    return !memmem(path, length, other, sizeof other - 1);
}

/* The runtime of Go makes its system calls itself, though it uses the C library, too, where C is part of the program. */
static bool has_note_of_go(const char *notes, size_t length) {
    static const char name[] = "Go";
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) + sizeof name <= length;) {
        const Elf64_Nhdr *note = (const Elf64_Nhdr *)(notes + at);
        at += sizeof *note;
        if (note->n_namesz == sizeof name + 1 && memcmp(notes + at, name, sizeof name) == 0) return true;
        at += ((size_t)note->n_namesz + 3) / 4 * 4 + ((size_t)note->n_descsz + 3) / 4 * 4;
    }
    return false;
}

static bool is_elf_of_ours(const char *start, size_t length) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)start;
    if (length < sizeof *header || memcmp(start, ELFMAG, SELFMAG) != 0 || start[EI_CLASS] != ELFCLASS64) return false;
    bool is_ours = false;
    for (size_t i = 0; i < header->e_phnum; i++) {
        size_t at = header->e_phoff + i * header->e_phentsize;
        if (at > length || length - at < sizeof(Elf64_Phdr)) return is_ours;
        const Elf64_Phdr *part = (const Elf64_Phdr *)(start + at);
        if (part->p_offset > length || part->p_filesz > length - part->p_offset) continue;
        const char *content = start + part->p_offset;
        if (part->p_type == PT_INTERP) is_ours = is_loader_of_ours(content, part->p_filesz);
        if (part->p_type == PT_NOTE && has_note_of_go(content, part->p_filesz)) return false;
    }
    return is_ours;
}

static bool is_dynamic(const char *path) {
    char start[4096];
    struct stat status;
    if (stat(path, &status) < 0 ||
        (status.st_mode & (S_ISUID | S_ISGID) && status.st_uid != geteuid()))
        return false;
    long length = read_start(path, start, sizeof start);
    if (length < 4) return false;
    if (begins_with(start, "#!")) {
        char interpreter[PATH_LENGTH];
        return interpreter_of_script(start, interpreter) && is_dynamic(interpreter);
    }
    return is_elf_of_ours(start, (size_t)length);
}

bool can_take_part(const char *path) { return is_dynamic(path) && rights_suffice(); }

bool find_program(const char *name, char *path) {
    if (strchr(name, '/')) return snprintf(path, PATH_LENGTH, "%s", name) < PATH_LENGTH;
    const char *folders = getenv("PATH");
    if (!folders) folders = "/bin:/usr/bin";
    while (*folders) {
        size_t length = strcspn(folders, ":");
        if (snprintf(path, PATH_LENGTH, "%.*s/%s", (int)length, length ? folders : ".", name) <
                PATH_LENGTH &&
            access(path, X_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}
