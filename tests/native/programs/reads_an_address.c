/* Reads the address that it is given. */
#include <stdlib.h>

int main(int count, char **words) {
    volatile int *place = (int *)strtoul(count > 1 ? words[1] : "0", NULL, 0);
    return *place;
}
