/* OpenMP's runtime waits by system calls of its own.  -DRACY: a sum without protection. */
#include <sched.h>
#include <stdlib.h>

int main(void) {
    long sum = 0, critical = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(3)
    for (int i = 0; i < 100; i++) sum += i;
#pragma omp parallel num_threads(3)
    {
#ifdef RACY
        long seen = critical;
#pragma omp barrier
        critical = seen + 1;
#else
#pragma omp critical
        critical++;
#pragma omp barrier
#endif
    }
    if (system("exit 3") != 3 << 8) return 2;
    return sum != 4950 || critical != 3;
}
