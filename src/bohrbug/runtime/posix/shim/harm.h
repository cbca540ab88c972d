/* How close a fragment came to harm; live/harm.py says the same of Python programs. */
#ifndef BOHRBUG_HARM_H
#define BOHRBUG_HARM_H

#include "live.h"

/* A checksum of what was done by whom in the steps from `first` to `end`. */
uint64_t choices_between(uint32_t first, uint32_t end);
/* What the steps from `first` on did to the margins of the program; `alive` tasks were there when they began. */
void measure_harm(struct fragment_report *report, uint32_t first, uint32_t alive);
/* Whether two operations that tasks are about to do are on one resource, and one of them writes: what comes
 * next depends on the order. */
bool is_conflict_ahead(void);

/* What fragments are ranked by, the more important first. */
struct score {
    uint32_t harm, fresh, waiting, held;
};
/* Sizes count by their order of magnitude only: else chance alone would decide. */
struct score score_of(const struct fragment_report *report);
bool is_worse(const struct score *one, const struct score *other);
static inline bool is_harmful(const struct fragment_report *report) {
    return report->end == IT_FAILED || report->end == IT_CRASHED;
}
/* What was new in a report is known from now on. */
void learn_pairs(const struct fragment_report *report);

#endif
