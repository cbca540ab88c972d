/* What the files share that do what threading.Thread does. */
#ifndef BOHRBUG_THREADS_H
#define BOHRBUG_THREADS_H

#include "scheduling.h"

/* -- tasks.c ---------------------------------------------------------------------- */

enum {
    BEGUN, CARRIER, CHILDREN, DAEMON, ENTERED, FIRING, FUNCTION, IDENT, LAST_YIELD, LOCAL_VALUES,
    NAME, ON_END, RESOURCES_MADE, SPAWNED, STARTED_DIRECTLY, STATE, TARGET, THREAD,
};
extern Slot thread_slots[];
extern PyObject *no_text;
#define OF_TASK(name) slot_get(task, thread_slots[name])
#define SET_OF_TASK(name, value) slot_set(task, thread_slots[name], value)

/* Task.__init__ */
int fill_task(PyObject *task, PyObject *id, PyObject *index, PyObject *ident);

/* -- resources.c ------------------------------------------------------------------ */

/* ResourceTable.thread; a new reference. */
PyObject *thread_resource(PyObject *table, PyObject *task_id);
/* Look up the slots of ResourceState and ResourceTable. */
int know_resources(PyObject *state, PyObject *table);

/* -- threads.c -------------------------------------------------------------------- */

/* What is known of threading. */
extern struct threading {
    PyTypeObject *type;
    PyObject *names, *own_names, *active, *run, *stop, *join_handle, *allocate_lock, *starter;
    PyObject *spawn_kind, *begin_kind, *join_kind;
    unsigned long long first_ident;
    bool has_native_ids, has_handles, has_contexts, inherits_context;
} threading;

/* The names of what threads have, and of what is told of them. */
extern struct thread_texts {
    PyObject *context, *daemonic, *enabled, *flag, *ident, *initialized, *is_stopped, *name;
    PyObject *native_id, *profile_hook, *sentinel, *spawn, *started, *starter, *target;
    PyObject *trace_hook;
} thread_texts;

/* What an ordinary thread, or what is in it, has of its own by a name: borrowed; NULL, also with an
 * exception: nothing. Its class has no descriptors of these names. */
PyObject *own(PyObject *object, PyObject *name);
int set_own(PyObject *object, PyObject *name, PyObject *value);

/* -- starting.c, joining.c -------------------------------------------------------- */

/* What ``Thread.start`` and ``join`` do, for a function that ``caller`` has called. */
Progress start_thread(PyObject *thread, PyFrameObject *caller);
Progress join_thread(PyObject *thread, PyFrameObject *caller);

/* -- ending.c --------------------------------------------------------------------- */

/* ``lifecycle.end``, and ``end`` in C. */
PyObject *use_end(PyObject *kind, PyObject *reference);

#endif
