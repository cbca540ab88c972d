/* Streams of the C library: whether an operation on one may have to wait, and what it is for other tasks. */
#ifndef BOHRBUG_FILE_STREAMS_H
#define BOHRBUG_FILE_STREAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What a function does to a stream: a call with the stream's lock, or without, or one for each character. */
enum part { WHOLE_CALL, UNLOCKED_CALL, CHARACTER };

/* The current task is about to use a stream.  Whether that may block, in the way of pipes and sockets: then
 * nothing was done yet.  Else the operation was performed. */
bool stream_may_block(FILE *stream, enum part part, uint64_t site);
/* Behind a call that may have emptied a buffer into a pipe or a socket, with its result, which is returned: whoever has
 * waited for it may go on. */
long stream_gave(bool may_have, long result, uint64_t site);

#endif
