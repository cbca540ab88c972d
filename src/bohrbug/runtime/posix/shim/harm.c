#include "harm.h"

#include <string.h>

#include "operation.h"
#include "task.h"

/* -- what fragments did ---------------------------------------------------------------------------- */

#define FNV_PRIME 0x100000001B3ULL
#define FNV_BASIS 0xCBF29CE484222325ULL

static uint64_t mixed(uint64_t one, uint64_t other) {
    uint64_t z = (one ^ other) * 0x9E3779B97F4A7C15ULL;
    return z ^ z >> 29;
}

uint64_t choices_between(uint32_t first, uint32_t end) {
    uint64_t sum = FNV_BASIS;
    for (uint32_t i = first; i < end; i++) {
        const struct step *step = &STEPS[i];
        sum = (sum ^ step->task) * FNV_PRIME;
        sum = (sum ^ step->kind) * FNV_PRIME;
        sum = (sum ^ step->resource) * FNV_PRIME;
    }
    return sum;
}

/* What was done last to some resources, by the lower bits of their number: what shares a place is forgotten. */
#define MOST_LAST 512u

struct last {
    uint32_t resource, is_known;
    uint32_t writer;           /* task */
    uint64_t written_at;       /* site */
    uint32_t taken, is_taken;  /* step */
};

static void add_pair(struct fragment_report *report, uint64_t written_at, uint64_t read_at) {
    uint64_t pair = mixed(mixed(written_at, 1), read_at);
    for (uint32_t i = 0; i < report->pairs_count; i++)
        if (report->pairs[i] == pair) return;
    if (report->pairs_count < MOST_FRAGMENT_PAIRS) report->pairs[report->pairs_count++] = pair;
}

void measure_harm(struct fragment_report *report, uint32_t first, uint32_t alive) {
    static struct last lasts[MOST_LAST];
    memset(lasts, 0, sizeof lasts);
    if (segment->alive_count > alive) alive = segment->alive_count;
    uint32_t fewest = alive;
    report->held = report->pairs_count = 0;
    for (uint32_t i = first; i < segment->steps; i++) {
        const struct step *step = &STEPS[i];
        enum kind kind = (enum kind)step->kind;
        if (kind == CHOOSE) continue;
        if (step->enabled < fewest) fewest = step->enabled;
        struct last *last = &lasts[step->resource % MOST_LAST];
        if (!last->is_known || last->resource != step->resource)
            *last = (struct last){.resource = step->resource, .is_known = 1, .writer = NONE};
        if (last->writer != NONE && last->writer != step->task)
            add_pair(report, last->written_at, step->site);
        if (is_write(kind)) {
            last->writer = step->task;
            last->written_at = step->site;
        }
        if (kind == ACQUIRE) {
            last->taken = i;
            last->is_taken = 1;
        } else if (kind == RELEASE && last->is_taken) {
            if (i - last->taken > report->held) report->held = i - last->taken;
            last->is_taken = 0;
        }
    }
    report->waiting = alive > fewest ? alive - fewest : 0;
}

/* -- which of them is the worst --------------------------------------------------------------------- */

/* Pairs that were seen before; beyond so many all are forgotten. */
#define PLACES (1u << 16)
#define MOST_KNOWN (PLACES / 2)
static uint64_t known[PLACES];
static uint32_t known_count;

static uint64_t *place_of(uint64_t pair) {
    uint32_t i = (uint32_t)(pair % PLACES);
    while (known[i] && known[i] != pair) i = (i + 1) % PLACES;
    return &known[i];
}

void learn_pairs(const struct fragment_report *report) {
    if (known_count > MOST_KNOWN) {
        memset(known, 0, sizeof known);
        known_count = 0;
    }
    for (uint32_t i = 0; i < report->pairs_count; i++) {
        uint64_t *place = place_of(report->pairs[i]);
        if (*place) continue;
        *place = report->pairs[i];
        known_count++;
    }
}

static uint32_t magnitude(uint32_t size) {
    uint32_t bits = 0;
    for (; size; size >>= 1) bits++;
    return bits;
}

struct score score_of(const struct fragment_report *report) {
    struct score score = {0, 0, magnitude(report->waiting), magnitude(report->held)};
    if (is_harmful(report)) score.harm = report->end == IT_CRASHED ? 2 : 1;
    for (uint32_t i = 0; i < report->pairs_count; i++) score.fresh += !*place_of(report->pairs[i]);
    return score;
}

bool is_worse(const struct score *one, const struct score *other) {
    if (one->harm != other->harm) return one->harm > other->harm;
    if (one->fresh != other->fresh) return one->fresh > other->fresh;
    if (one->waiting != other->waiting) return one->waiting > other->waiting;
    return one->held > other->held;
}

/* -- where to try ------------------------------------------------------------------------------------ */

/* More are not compared with each other. */
#define MOST_COMPARED 32

bool is_conflict_ahead(void) {
    uint32_t count = segment->alive_count < MOST_COMPARED ? segment->alive_count : MOST_COMPARED;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++) {
            struct touched one = touched_by_task(&TASKS[segment->alive[i]]);
            struct touched other = touched_by_task(&TASKS[segment->alive[j]]);
            if (conflict(&one, &other)) return true;
        }
    return false;
}
