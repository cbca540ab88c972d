/* Who could make a descriptor ready: a task of the execution, or somebody outside of it. */
#ifndef BOHRBUG_OUTSIDERS_H
#define BOHRBUG_OUTSIDERS_H

enum outsider {
    NOBODY,     /* the execution itself */
    MAY_COME,   /* whoever connects */
    CONNECTED,  /* a socket leads outside */
};

enum outsider outsider_of(int fd);
/* The port of a socket belongs to the execution. */
void port_is_ours(int fd);

#endif
