#include "points.h"

#include <stddef.h>
#include <string.h>

#include "fnv.h"

/* A resource, or the task that it stands for, is named by a number: the same in every execution, and
 * made in the same way in segment.py. */
enum { OF_TASK = 1, OF_STATIC, OF_DYNAMIC };

static uint64_t mixed(uint64_t key, uint64_t value) {
    uint64_t z = (key ^ value) * 0x9E3779B97F4A7C15ULL;
    return z ^ z >> 29;
}

static uint64_t key_of_task(uint32_t task) {
    if (TASKS[task].parent == NONE) return OF_TASK;
    return mixed(key_of_task(TASKS[task].parent), TASKS[task].number);
}

/* Of the name of a module, without its folder. */
static uint64_t key_of_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return fnv_1a(slash ? slash + 1 : path, path + strlen(path));
}

static const struct module *module_of(const struct resource *resource) {
    for (uint32_t i = 0; i < segment->modules; i++) {
        const struct module *module = &MODULES[i];
        if (module->process == resource->process && resource->address >= module->start &&
            resource->address < module->end && !module->is_shim)
            return module;
    }
    return NULL;
}

static bool is_static(uint32_t number) {
    struct resource *resource = &RESOURCES[number];
    if (!(resource->marks & LOCATED)) {
        resource->marks |= LOCATED;
        if (module_of(resource)) resource->marks |= STATIC;
    }
    return resource->marks & STATIC;
}

/* How many resources were at the same place before. */
static uint32_t earlier_there(uint32_t number) {
    const struct resource *resource = &RESOURCES[number];
    uint32_t count = 0;
    for (uint32_t i = 0; i < number; i++)
        count += RESOURCES[i].address == resource->address && RESOURCES[i].space == resource->space;
    return count;
}

/* How many resources its creator had made before that are not in static memory. */
static uint32_t earlier_by_creator(uint32_t number) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < number; i++)
        count += RESOURCES[i].creator == RESOURCES[number].creator && !is_static(i);
    return count;
}

static uint64_t key_of(uint32_t number) {
    if (number & TASK_BIT) return key_of_task(number & ~TASK_BIT);
    const struct resource *resource = &RESOURCES[number];
    if (is_static(number)) {
        const struct module *module = module_of(resource);
        return mixed(mixed(mixed(OF_STATIC, key_of_name(module->path)),
                           resource->address - module->base),
                     earlier_there(number));
    }
    uint64_t creator = resource->creator == NONE ? OF_TASK : key_of_task(resource->creator);
    return mixed(mixed(OF_DYNAMIC, creator), earlier_by_creator(number));
}

static struct point *find(uint64_t key) {
    struct point *points = TABLE(struct point, points);
    uint32_t low = 0, high = segment->points_length;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (points[middle].key < key) low = middle + 1;
        else high = middle;
    }
    return low < segment->points_length && points[low].key == key ? &points[low] : NULL;
}

uint32_t marks_of(uint32_t number) {
    bool is_task = number & TASK_BIT;
    uint32_t *marks = is_task ? &TASKS[number & ~TASK_BIT].marks : &RESOURCES[number].marks;
    if (!(*marks & KNOWN)) {
        const struct point *point = find(key_of(number));
        *marks |= KNOWN;
        if (!point) return *marks;
        *(is_task ? &TASKS[number & ~TASK_BIT].point : &RESOURCES[number].point) =
            (uint32_t)(point - TABLE(struct point, points));
        if (point->decides) *marks |= DECIDES;
        if (point->selected) *marks |= SELECTED;
        if (point->events != point->events_end) *marks |= NAMED;
    }
    return *marks;
}

struct point *point_of(uint32_t number) {
    if (!(marks_of(number) & NAMED)) return NULL;
    return TABLE(struct point, points) +
           (number & TASK_BIT ? TASKS[number & ~TASK_BIT].point : RESOURCES[number].point);
}

bool is_selected(const struct task *task) {
    if (segment->selects_everywhere) return decides(task);
    return marks_of(task->resource) & SELECTED;
}
