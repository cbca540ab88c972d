/* What is of this library only: the compiler may look at it directly, and not by way of a table. */
#ifndef BOHRBUG_OWN_H
#define BOHRBUG_OWN_H

#define OWN __attribute__((visibility("hidden")))
#define OWN_OF_THREAD __attribute__((visibility("hidden"), tls_model("initial-exec")))

#endif
