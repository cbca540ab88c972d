/* Two deposits, each less its fee, which a function tells; with COPIES by memcpy, as large structures
 * are; with FORKED in a child process.  FIXED: under a mutex. */
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int balance;
volatile size_t size = sizeof balance;

__attribute__((noinline)) static int fee(int amount) { return amount > 50 ? amount / 50 : 0; }

#ifdef COPIES
static int load(void) {
    int value;
    memcpy(&value, &balance, size);
    return value;
}
static void store(int value) { memcpy(&balance, &value, size); }
#else
static int load(void) { return balance; }
static void store(int value) { balance = value; }
#endif

static void *deposit(void *amount) {
#ifdef FIXED
    pthread_mutex_lock(&mutex);
#endif
    int before = load();
    store(before + *(int *)amount - fee(*(int *)amount));
#ifdef FIXED
    pthread_mutex_unlock(&mutex);
#endif
    return NULL;
}

int main(void) {
#ifdef FORKED
    if (fork() != 0) {
        int status;
        wait(&status);
        return status != 0;
    }
#endif
    pthread_t first, second;
    int ten = 10, five = 5;
    pthread_create(&first, NULL, deposit, &ten);
    pthread_create(&second, NULL, deposit, &five);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    assert(balance == 15);
    return 0;
}
