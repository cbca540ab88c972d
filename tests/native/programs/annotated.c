/* A lock of the program's own, in assembler, which it tells the sanitizer of; and an expected race. */
#include <pthread.h>
#include <sched.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);
void AnnotateBenignRaceSized(const char *file, int line, const volatile void *address,
                             unsigned long size, const char *why);

static char lock;
static int counter, hits;

static char exchange(char value) {
    __asm__ volatile("xchgb %0, %1" : "+r"(value), "+m"(lock)::"memory");
    return value;
}

static void *work(void *unused) {
    hits++;
    while (exchange(1)) sched_yield();
    __tsan_acquire(&lock);
    counter++;
    __tsan_release(&lock);
    exchange(0);
    return unused;
}

int main(void) {
    pthread_t first, second;
    AnnotateBenignRaceSized(__FILE__, __LINE__, &hits, sizeof hits, "statistics");
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return counter + hits == 0;
}
