#ifndef BOHRBUG_ASK_H
#define BOHRBUG_ASK_H

#include <stdint.h>

/* After a step was recorded, with so many options: ends the execution if it is to be asked for. */
void ask(uint32_t step, uint32_t options);

#endif
