/* What the files share that do what event loops of asyncio need: see runtime/threads/loops. */
#ifndef BOHRBUG_LOOPS_H
#define BOHRBUG_LOOPS_H

#include "threads.h"
#include <string.h>

/* -- loop_places.c ----------------------------------------------------------------- */

/* Know is_name_of_library and is_name_of_loop. */
int know_places(PyObject *of_library, PyObject *of_loop);
/* coroutines.is_of_loop; -1: an exception is set. */
int is_of_loop(PyObject *globals);
/* tasks.place_from; a new reference. */
PyObject *place_from(PyObject *frame);
/* tasks.place_in; on DONE ``place`` is a new reference. */
Progress place_in_coroutine(PyObject *coroutine, PyObject **place);
/* tasks.has_begun; -1: an exception is set. */
int has_begun(PyObject *coroutine);

/* -- loop_handles.c ------------------------------------------------------------------ */

enum {
    OF_ASYNCIO, EXECUTION_OF_TASKS, OF_LOOPS, HANDLES_MADE, HAVE_CHOICES, HAVE_COMPANY, OFFERED,
    ORIGINS, PAUSES_CAN_BE_LATE,
};
extern Slot loop_tasks_slots[];
#define OF_LOOP_TASKS(tasks, name) slot_get(tasks, loop_tasks_slots[name])

enum { ORIGIN_GOES_ON, ORIGIN_ORDER, ORIGIN_TASK };
extern Slot origin_slots[];

/* ``handle._cancelled``; -1: an exception is set. */
int is_handle_cancelled(PyObject *handle);
/* An attribute that an object may have; 1: it has, 0: it has not, -1: an exception is set. On 1
 * ``value`` is a new reference. */
int attribute_if_any(PyObject *object, PyObject *name, PyObject **value);
/* Whether an attribute is true; -1: an exception is set. */
int is_attribute_true(PyObject *object, PyObject *name);
/* Whether note_handle would take it down. */
bool is_common_handle(PyObject *callback);
/* LoopTasks.handle_made; RARE: that has to do it. */
Progress note_handle(PyObject *loop_tasks, PyObject *handle, PyObject *callback, PyObject *frame);
/* Orders of entries. */
extern PyObject *order_fifo, *order_arrival;
/* The name of an asyncio task, as tasks.describe gives it to a task. */
int describe_task(PyObject *task, PyObject *asyncio_task);

/* -- loop_offers.c ------------------------------------------------------------------- */

enum {
    ENTRY_GOES_ON, ENTRY_HANDLE, ENTRY_ORDER, ENTRY_PENDING, ENTRY_PLACE, ENTRY_SINCE, ENTRY_TASK,
};
extern Slot entry_slots[];
#define ENTRY(entry, name) slot_get(entry, entry_slots[name])
#define SET_ENTRY(entry, name, value) slot_set(entry, entry_slots[name], value)

enum { THREAD_EXECUTION, THREAD_STATE, THREAD_HOST, THREAD_STANDING };
extern Slot loop_thread_slots[];

/* LoopThread.choose; a new reference. */
PyObject *choose_step(PyObject *thread, PyObject *tasks);
/* tasks.operation_of; on DONE both are new references. */
Progress operation_of(PyObject *entry, PyObject **kind, PyObject **place);
/* tasks.is_cancelled; -1: an exception is set. */
int is_step_cancelled(PyObject *entry);
/* tasks.bind */
void bind_task(PyObject *task, PyObject *host, PyObject *loop, PyObject *state);
/* Whether a thread of a loop runs a task already. */
bool is_bound_to(PyObject *task, PyObject *host);
extern PyObject *begin_kind, *resume_kind;

/* -- loop_called.c ------------------------------------------------------------------- */

/* Let a queue have what a loop was asked to call soon. With ``counts``, what only counts is run at
 * once. */
int take_called_by(PyObject *loop, PyObject *tasks, PyObject *queue, bool counts);
/* Know LoopEntry, what the module of turns has by name, and counting.counters. */
int use_called(PyObject *entry, PyObject *names_of_module, PyObject *counters);

/* -- loop_calls.c -------------------------------------------------------------------- */

/* ``handle._run()`` of a handle that a loop runs whose turns are under control. */
PyObject *run_handle(PyObject *handle);

/* -- loop_queue.c -------------------------------------------------------------------- */

enum { QUEUE_NUMBER, QUEUE_STATES, HAS_FORGOTTEN, WAS_IMPATIENT };
enum { TURN, FOLLOWING, ARRIVED, IS_NEW };
extern Slot queue_slots[], queue_state_slots[];
#define OF_STATE(name) slot_get(state, queue_state_slots[name])

/* The only state of a queue, borrowed; NULL: it has several. */
PyObject *only_state(PyObject *queue);
/* ReadyQueue.call */
int call_for(PyObject *queue, PyObject *entry);
/* ReadyQueue.first, of a queue with one state: an entry, borrowed; NULL: none, or something else. */
PyObject *first_of(PyObject *state, Progress *progress);
/* ReadyQueue.next_ones, where something that may be late comes first, and whether the turn may end. On
 * DONE ``found`` is a new list. */
Progress next_arrivals(PyObject *queue, PyObject **found, bool *may_end);
/* ReadyQueue.begin_turn, where nothing has arrived. */
Progress begin_turn_of_queue(PyObject *queue);
/* Know ReadyQueue, the class of its states, and LoopEntry; and the order of timers. */
int use_queue(PyObject *queue, PyObject *state, PyObject *entry, PyObject *timer);

#endif
