#include <pthread.h>
#include <stdio.h>

static int hits;

static void *count(void *unused)
{
    (void)unused;
    int seen = hits;
    hits = seen + 1;
    return NULL;
}

int main(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, count, NULL);
    pthread_create(&other, NULL, count, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    printf("%d hits\n", hits);
    return 0;
}
