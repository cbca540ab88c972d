/* What the parts of the accelerator share.
 *
 * The Python code is the reference.  A fast path does the common case of a Python
 * function, with the same effects in the same order, and calls that function for
 * everything else *before* it has any effect of its own.  It reads and writes the
 * objects of the Python code where they are: the classes stay written in Python,
 * and their hot attributes are in slots, whose offsets are looked up once.
 *
 * Everything here runs with the GIL held.
 */
#ifndef BOHRBUG_ACCELERATOR_H
#define BOHRBUG_ACCELERATOR_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

/* What trying the common case came to. */
typedef enum {
    FAILED = -1, /* an exception is set */
    RARE = 0,    /* nothing was done: the Python function has to do it */
    DONE = 1,
} Progress;

/* -- slots of Python classes ---------------------------------------------------- */

/* A slot of a Python class, and where in its instances it is. */
typedef struct {
    const char *name;
    Py_ssize_t offset;
} Slot;

/* Look up the offsets of some slots, up to one without a name. */
int find_slots(PyObject *cls, Slot *slots);

/* What is in a slot, a borrowed reference; NULL, without an exception, if nothing is. */
static inline PyObject *
slot_get(PyObject *object, Slot slot)
{
    return *(PyObject **)((char *)object + slot.offset);
}

static inline void
slot_set(PyObject *object, Slot slot, PyObject *value)
{
    PyObject **place = (PyObject **)((char *)object + slot.offset);
    PyObject *before = *place;
    *place = Py_NewRef(value);
    Py_XDECREF(before);
}

/* The value of an int; -1 with an exception if it is none or too large. */
static inline Py_ssize_t
int_value(PyObject *value)
{
#if PY_VERSION_HEX >= 0x030C0000
    if (PyLong_CheckExact(value) && PyUnstable_Long_IsCompact((PyLongObject *)value))
        return PyUnstable_Long_CompactValue((PyLongObject *)value);
#endif
    return PyLong_AsSsize_t(value);
}

/* The int in a slot; -1 with an exception if there is none. */
static inline Py_ssize_t
slot_int(PyObject *object, Slot slot)
{
    PyObject *value = slot_get(object, slot);
    if (value == NULL) {
        PyErr_SetString(PyExc_AttributeError, slot.name);
        return -1;
    }
    return int_value(value);
}

/* -- fast paths ------------------------------------------------------------------ */

/* A method in C, and the Python function that it stands in for. */
typedef struct {
    PyMethodDef definition;
    PyObject *reference;
} FastPath;

/* Some functions in C, as a tuple. */
PyObject *functions_of(PyMethodDef *definitions, size_t count);

/* A name that is looked up again and again, and where it is kept. */
typedef struct {
    PyObject **text;
    const char *value;
} Name;

/* Make the texts of some names; -1: an exception is set. */
int make_names(const Name *names, size_t count);

/* Replace methods of a class by some fast paths, up to one without a name. */
int take_over(PyObject *cls, FastPath *fast_paths);

/* -- bound.c --------------------------------------------------------------------- */

/* What a method does that ``with`` calls: with no arguments, or with the three of ``__exit__``. */
typedef PyObject *(*FromWith)(PyObject *self, Py_ssize_t count);
/* Let a method of a class, which is in C, be bound at less cost; it is called as ``with`` does. */
int bind_for_with(PyObject *cls, const char *name, FromWith function);

/* -- controlling.c -------------------------------------------------------------- */

/* The execution that controls the calling code, borrowed; NULL if none does. */
PyObject *controlling_execution(void);
/* Whether an execution runs, but not in the calling thread. */
bool in_another_thread(void);

/* Whether the calling code is a trace or profile function, or what sys.monitoring calls. */
bool is_in_tracer(void);
PyObject *in_tracer(PyObject *module, PyObject *nothing);
/* Whether what the calling code accesses is no business of an execution. */
bool nobody_sees(void);
PyObject *controlled(PyObject *module, PyObject *nothing);
PyObject *is_unseen(PyObject *module, PyObject *nothing);
PyObject *another_thread(PyObject *module, PyObject *nothing);
/* Its running task, borrowed. */
PyObject *running_task(PyObject *execution);
/* Whether the running task is within a modelled primitive; -1: exception. */
int is_inside(PyObject *task);
/* Note in a task, or no more, that it holds a lock. */
int note_holding(PyObject *task, PyObject *lock, PyObject *place);
int note_released(PyObject *task, PyObject *lock);
/* Whether a resource's state belongs to this execution. */
bool is_of_execution(PyObject *state, PyObject *execution);
/* ``execution.current.index`` */
Py_ssize_t running_index(PyObject *execution);
/* ``(code object, instruction offset)`` of the Python code that called. */
PyObject *calling_place(void);
/* The frame that called the Python method which called this function in C, a new reference; NULL:
 * there is none. */
PyFrameObject *caller_of_method(void);
/* ``place_of``: the place of the instruction that a frame executes. */
PyObject *place_in(PyFrameObject *frame);

/* Whether an object is a weak reference to another. */
bool refers_to(PyObject *reference, PyObject *object);

/* -- scheduling.c, deciding.c ---------------------------------------------------- */

extern PyObject *acquire_kind, *release_kind, *task_killed;

/* ``Execution.perform`` with no more arguments than these; ``ready`` may be NULL. */
Progress perform(PyObject *execution, PyObject *kind, PyObject *state, PyObject *place,
                 PyObject *ready);
/* ``Execution.access``. */
int access_point(PyObject *execution, PyObject *place, PyObject *kind, PyObject *shadow);

PyObject *use_execution(PyObject *module, PyObject *arguments);

/* -- policies.c ------------------------------------------------------------------ */

PyObject *use_policies(PyObject *module, PyObject *arguments);
PyObject *uniform_random_decider(PyObject *module, PyObject *seed);
PyObject *priority_decider(PyObject *module, PyObject *arguments);
PyObject *partial_order_decider(PyObject *module, PyObject *arguments);
PyObject *weighted_random_decider(PyObject *module, PyObject *arguments);

/* -- locks.c -------------------------------------------------------------------- */

PyObject *use_locks(PyObject *module, PyObject *arguments);

/* -- real_locks.c ----------------------------------------------------------------- */

/* Look up what locks are that this function makes. */
int know_real_locks(PyObject *allocate);
/* Whether nobody holds a real lock; -1: an exception is set. */
int real_is_free(PyObject *real);
/* Acquire a real lock if nobody holds it: whether that succeeded; -1: an exception is set. */
int take_real(PyObject *real);
int release_real(PyObject *real);

/* -- readiness.c ------------------------------------------------------------------- */

/* Something to call that says whether an operation on ``subject`` would not block; it is quiet if
 * asking runs no code of the program. */
PyObject *new_readiness(int (*holds)(PyObject *), PyObject *subject, bool is_quiet);

/* -- sharing.c --------------------------------------------------------------------- */

/* ``(code object, offset)`` */
PyObject *shared_place(PyObject *code, long offset);
PyObject *forget_shared(PyObject *module, PyObject *nothing);

/* -- tasks.c, threads.c --------------------------------------------------------- */

PyObject *use_tasks(PyObject *module, PyObject *arguments);
PyObject *use_threads(PyObject *module, PyObject *arguments);

/* -- loop_frames.c -------------------------------------------------------------- */

PyObject *use_frames(PyObject *module, PyObject *arguments);
PyObject *frames_of_step(PyObject *module, PyObject *innermost);
/* Let go of what is kept of frames from one access to the next. */
void forget_frames(void);

/* -- loop_calls.c, loop_handles.c, loop_offers.c, loop_places.c, loop_turns.c ------- */

PyObject *use_locks_of_loops(PyObject *module, PyObject *arguments);
PyObject *hands_lock_over(PyObject *module, PyObject *frame);
PyObject *is_selected_as_asyncios(PyObject *module, PyObject *loop);
PyObject *place_from_frame(PyObject *module, PyObject *frame);
PyObject *use_handle(PyObject *module, PyObject *arguments);
PyObject *use_loop(PyObject *module, PyObject *arguments);
PyObject *use_run(PyObject *module, PyObject *arguments);
PyObject *call_soon_in_loop(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *use_handles(PyObject *module, PyObject *arguments);
PyObject *use_offers(PyObject *module, PyObject *arguments);
PyObject *use_turns(PyObject *module, PyObject *arguments);

/* -- carriers.c, running_loop.c ------------------------------------------------- */

PyObject *use_carriers(PyObject *module, PyObject *arguments);
PyObject *use_swap(PyObject *module, PyObject *arguments);

/* -- parts.c -------------------------------------------------------------------- */

PyObject *use_parts(PyObject *module, PyObject *arguments);
PyObject *use_thread_parts(PyObject *module, PyObject *arguments);

/* -- points.c ------------------------------------------------------------------- */

PyObject *use_points(PyObject *module, PyObject *arguments);

/* -- frameless.c ---------------------------------------------------------------- */

PyObject *without_frame(PyObject *module, PyObject *unused);

/* -- queues.c ------------------------------------------------------------------- */

PyObject *use_queues(PyObject *module, PyObject *arguments);

/* -- detector.c ----------------------------------------------------------------- */

/* ``RaceDetector.synchronise``, or the same of whatever stands for a detector. */
int synchronise(PyObject *detector, Py_ssize_t task_index, PyObject *state, bool is_write);
/* Whether it is a ``RaceDetector``, and no subclass. */
bool is_usual_detector(PyObject *detector);
/* ``RaceDetector.read`` or ``write``: the conflict, or None. */
PyObject *detect(PyObject *detector, PyObject *shadow, Py_ssize_t index, PyObject *place,
                 bool is_write);
PyObject *use_detector(PyObject *module, PyObject *arguments);

/* -- accesses.c ----------------------------------------------------------------- */

/* What is accessed: ``owner.name``, ``owner[key]``, or all of ``owner``. */
typedef enum { ATTRIBUTE, ITEM, WHOLE } What;
/* Tell a sink, of whatever class; ``key`` is NULL for WHOLE. */
int tell_to(PyObject *sink, What what, PyObject *owner, PyObject *key, bool is_write,
            PyObject *place);
/* Call a function, or with a name a method of the first argument, as sinks are called. */
PyObject *call_told(PyObject *function, PyObject *name, PyObject *first, PyObject *owner,
                    PyObject *key, bool is_write, PyObject *place);
/* The variable, a new reference, or None if it is none. */
PyObject *shadow_of(PyObject *owners, PyObject *variables, What what, PyObject *owner,
                    PyObject *key, bool is_write, PyObject *place);
/* dict[id(object)], borrowed; NULL if it is not there or an exception is set. */
PyObject *by_identity(PyObject *dict, PyObject *object);

PyObject *use_sinks(PyObject *module, PyObject *arguments);
PyObject *use_hooks(PyObject *module, PyObject *arguments);
PyObject *use_silent_sink(PyObject *module, PyObject *type);
PyObject *set_sink(PyObject *module, PyObject *sink);
extern PyMethodDef hook_definitions[];
/* Whether somebody is told of accesses now. */
bool hooks_are_active(void);

/* Raise that a hook was called with a wrong number of arguments; NULL. */
PyObject *wrong_number(void);
/* Whether some dict is known to hold the attributes of an object, which then stands for it. */
bool dicts_stand_for_objects(void);
/* Tell of an access to a whole object; done, or failed. */
Progress tell_whole_now(PyObject *owner, bool is_write, PyObject *place);

/* Tell of an item whose key is a text or an int: a new reference to None. */
PyObject *tell_item_now(PyObject *owner, PyObject *key, bool is_write, PyObject *place);
/* ``table[type(owner)]``, where the table may work it out; a new reference. */
PyObject *found_for_type(PyObject *table, PyObject *owner);

/* -- around.c --------------------------------------------------------------------- */

/* Tell a sink that stands before another one; RARE: it is no such sink. */
Progress tell_around(PyObject *sink, What what, PyObject *owner, PyObject *key, bool is_write,
                     PyObject *place);
PyObject *use_sweeping_sink(PyObject *module, PyObject *arguments);
PyObject *known_referents(PyObject *module, PyObject *arguments);
PyObject *use_logging_sink(PyObject *module, PyObject *arguments);

/* -- calls.c ---------------------------------------------------------------------- */

PyObject *use_intervals(PyObject *module, PyObject *arguments);
PyObject *use_calls(PyObject *module, PyObject *arguments);
PyObject *use_iteration(PyObject *module, PyObject *arguments);
extern PyMethodDef call_hook_definitions[];
extern PyMethodDef operator_hook_definitions[];
PyObject *use_operators(PyObject *module, PyObject *arguments);
PyObject *use_reference(PyObject *module, PyObject *arguments);

/* -- variables.c ----------------------------------------------------------------- */

PyObject *attribute_shadow(PyObject *variables, PyObject *target, PyObject *name, PyObject *place);
/* Let another class of variables be as usual for attributes. */
void know_passing_variables(PyObject *type);
PyObject *name_variable(PyObject *execution, PyObject *identity, PyObject *shadow);
PyObject *use_variables(PyObject *module, PyObject *arguments);

/* -- counting.c ------------------------------------------------------------------ */

PyObject *add_shared(PyObject *module, PyObject *arguments);
#ifdef __linux__
PyObject *add_and_wake(PyObject *module, PyObject *arguments);
PyObject *wait_shared(PyObject *module, PyObject *arguments);
#endif

/* -- random_state.c -------------------------------------------------------------- */

PyObject *generator_state(PyObject *module, PyObject *generator);
PyObject *set_generator_state(PyObject *module, PyObject *arguments);

/* -- plain.c -------------------------------------------------------------------- */

PyObject *use_plain(PyObject *module, PyObject *arguments);

/* -- branching.c ---------------------------------------------------------------- */

PyObject *branches(PyObject *module, PyObject *arguments);

/* -- keys.c --------------------------------------------------------------------- */

extern PyTypeObject keys_type;
/* Whether a number is in a set of that type; -1: exception */
int is_among_keys(PyObject *keys, PyObject *key);
int add_key(PyObject *keys, PyObject *key);

/* -- heap.c --------------------------------------------------------------------- */

PyObject *classes_of(PyObject *module, PyObject *namespaces);
PyObject *with_subclasses(PyObject *module, PyObject *class);
PyObject *objects_of_types(PyObject *module, PyObject *types);
PyObject *frozen_objects_of_types(PyObject *module, PyObject *types);
PyObject *last_frozen(PyObject *module, PyObject *nothing);
PyObject *thaw_for_programs(PyObject *module, PyObject *arguments);
PyObject *referrers_of(PyObject *module, PyObject *object);
PyObject *survey(PyObject *module, PyObject *arguments);

/* -- held.c --------------------------------------------------------------------- */

PyObject *held_only_by_us(PyObject *module, PyObject *held);

/* -- values.c ------------------------------------------------------------------- */

PyObject *has_values(PyObject *module, PyObject *arguments);

/* -- functions.c ---------------------------------------------------------------- */

PyObject *watch_functions(PyObject *module, PyObject *nothing);
PyObject *functions_are_watched(PyObject *module, PyObject *nothing);
PyObject *tell_first_calls(PyObject *module, PyObject *function);
PyObject *evaluator(PyObject *module, PyObject *nothing);
PyObject *listen_to_first_calls(PyObject *module, PyObject *wanted);
PyObject *functions_running(PyObject *module, PyObject *arguments);
PyObject *functions_in(PyObject *module, PyObject *arguments);

/* -- numbering.c ---------------------------------------------------------------- */

PyObject *numbered(PyObject *module, PyObject *arguments);
PyObject *neighbours(PyObject *module, PyObject *arguments);

/* -- identities.c --------------------------------------------------------------- */

PyObject *know_births(PyObject *module, PyObject *arguments);
PyObject *count_births(PyObject *module, PyObject *is_wanted);
PyObject *forget_births(PyObject *module, PyObject *nothing);

/* -- hashes.c ------------------------------------------------------------------- */

PyObject *chained_states(PyObject *module, PyObject *arguments);

/* -- sampling.c ----------------------------------------------------------------- */

PyObject *checksum_of(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* -- events.c, races.c ------------------------------------------------------------ */

PyObject *use_events(PyObject *module, PyObject *type);
PyObject *use_reversals(PyObject *module, PyObject *type);
PyObject *is_weak_initial(PyObject *module, PyObject *arguments);
PyObject *first_initial(PyObject *module, PyObject *arguments);
PyObject *still_asleep(PyObject *module, PyObject *arguments);
PyObject *independent_events(PyObject *module, PyObject *arguments);
PyObject *sleepers_along(PyObject *module, PyObject *arguments);
PyObject *take_plain_steps(PyObject *module, PyObject *arguments);

/* What the frame that calls a hook has accessed before is over; false with an exception set. */
bool end_what_was_begun(void);

#endif
