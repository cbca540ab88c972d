/* Has a variable among its instructions, as programs have that make or change code.  The flags of the segment
 * have to be changed for that. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
__attribute__((section(".text.variable"))) static const volatile int in_code = 1;

static void *work(void *nothing) {
    pthread_mutex_lock(&mutex);
    ++*(volatile int *)(uintptr_t)&in_code;
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    printf("%d\n", in_code);
    return 0;
}
