/* Who could make a descriptor ready: a task of the execution, or somebody outside of it. */
#ifndef BOHRBUG_OUTSIDERS_H
#define BOHRBUG_OUTSIDERS_H

enum outsider {
    NOBODY,     /* the execution itself */
    ON_THE_WAY, /* ... but what was sent to an Internet socket may not have arrived yet */
    MAY_COME,   /* whoever connects */
    TIMER,      /* a timer of the kernel */
    CONNECTED,  /* a socket leads outside */
};

enum outsider outsider_of(int fd);
/* The same, looking into what stands for several descriptors. */
enum outsider outsider_behind(int fd);
/* The port of a socket belongs to the execution. */
void port_is_ours(int fd);

#endif
