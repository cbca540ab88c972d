#include "ask.h"

#include "ending.h"
#include "segment.h"

/* The policy is non-preemptive; `length` says how many decisions it may still make itself.
 *
 * The step is on record, with its options, but was not done: every task stands where it stood when
 * the decision was due, which is what whoever makes it wants to see.
 */
void ask(uint32_t step, uint32_t options) {
    if (segment->policy != ASK || step < segment->prefix_length || options < 2) return;
    if (segment->length) {
        segment->length--;
        return;
    }
    finish(ASKED, segment->running, "%s", "");
}
