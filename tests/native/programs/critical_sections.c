/* An update in two critical sections, between which the other thread's may come. */
#include <assert.h>

int main(void) {
    volatile int counter = 0;
#pragma omp parallel num_threads(2)
    {
        int seen;
#pragma omp critical
        seen = counter;
#pragma omp critical
        counter = seen + 1;
    }
    assert(counter == 2);
}
