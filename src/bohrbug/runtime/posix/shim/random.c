/* Random numbers that are the same in every execution. */
#include <errno.h>
#include <sys/random.h>

#include "addresses.h"
#include "random_bytes.h"
#include "real.h"
#include "task.h"

void random_bytes(void *buffer, size_t length) {
    /* xorshift64* (Vigna, 2016), for each task a sequence of its own. */
    static __thread uint64_t state __attribute__((tls_model("initial-exec")));
    if (!state) state = 0x9E3779B97F4A7C15ULL * (index_of(current) + 1);
    unsigned char *bytes = buffer;
    for (size_t i = 0; i < length; i++) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        bytes[i] = (unsigned char)(state * 0x2545F4914F6CDD1DULL >> 56);
    }
}

EXPORT ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
    CONTROLLED(getrandom, buffer, length, flags);
    REFUSED_IF(length && leads_nowhere(buffer), getrandom, buffer, length, flags);
    random_bytes(buffer, length);
    return (ssize_t)length;
}

EXPORT int getentropy(void *buffer, size_t length) {
    CONTROLLED(getentropy, buffer, length);
    if (length > 256) {
        errno = EIO;
        return -1;
    }
    REFUSED_IF(length && leads_nowhere(buffer), getentropy, buffer, length);
    random_bytes(buffer, length);
    return 0;
}
