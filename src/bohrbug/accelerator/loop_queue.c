/* What an event loop may run next: the common case of what ReadyQueue does for each entry.
 *
 * Common is: the queue has one state, and nothing waits for the next turn where this one may end.
 */
#include "loops.h"

static PyTypeObject *entry_type;
static PyObject *order_timer, *text_delay;

Slot queue_slots[] = {
    [QUEUE_NUMBER] = {"_number", 0}, [QUEUE_STATES] = {"_states", 0},
    [HAS_FORGOTTEN] = {"has_forgotten", 0}, [WAS_IMPATIENT] = {"was_impatient", 0}, {0},
};
Slot queue_state_slots[] = {
    [TURN] = {"turn", 0}, [FOLLOWING] = {"following", 0}, [ARRIVED] = {"arrived", 0},
    [IS_NEW] = {"is_new", 0}, {0},
};

static FastPath fast_paths[];

static int
is_cancelled_entry(PyObject *entry)
{
    return is_handle_cancelled(ENTRY(entry, ENTRY_HANDLE));
}

/* The only state of a queue, borrowed; NULL: it has several. */
PyObject *
only_state(PyObject *queue)
{
    PyObject *states = slot_get(queue, queue_slots[QUEUE_STATES]);
    return PyList_GET_SIZE(states) == 1 ? PyList_GET_ITEM(states, 0) : NULL;
}

/* ReadyQueue.call */
int
call_for(PyObject *queue, PyObject *entry)
{
    PyObject *number = PyLong_FromSsize_t(slot_int(queue, queue_slots[QUEUE_NUMBER]) + 1);
    PyObject *place = number == NULL ? NULL : PyTuple_Pack(2, number, zero);
    int result = place == NULL ? -1 : 0;
    if (result == 0) {
        SET_ENTRY(entry, ENTRY_SINCE, number);
        SET_ENTRY(entry, ENTRY_PLACE, place);
    }
    Py_XDECREF(number);
    Py_XDECREF(place);
    PyObject *states = slot_get(queue, queue_slots[QUEUE_STATES]);
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(states); i++)
        result = PyList_Append(
            slot_get(PyList_GET_ITEM(states, i), queue_state_slots[FOLLOWING]), entry);
    return result;
}

/* ReadyQueue.first, of a queue with one state: an entry, borrowed; NULL: none, or something else. */
PyObject *
first_of(PyObject *state, Progress *progress)
{
    PyObject *turn = OF_STATE(TURN);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(turn); i++) {
        PyObject *entry = PyList_GET_ITEM(turn, i);
        int is_cancelled = is_cancelled_entry(entry);
        if (is_cancelled < 0) {
            *progress = FAILED;
            return NULL;
        }
        if (!is_cancelled) {
            *progress = DONE;
            return ENTRY(entry, ENTRY_ORDER) == order_fifo ? entry : NULL;
        }
    }
    *progress = DONE;
    return NULL;
}

/* What a turn has to do with what is late. */
static int
delay_late(PyObject *queue)
{
    PyObject *result = PyObject_CallMethodNoArgs(queue, text_delay);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* The number of the turn to which an entry belongs by asyncio's own order. */
static Py_ssize_t
turn_of(PyObject *entry)
{
    return int_value(PyTuple_GET_ITEM(ENTRY(entry, ENTRY_PLACE), 0));
}

static int
count_turn(PyObject *queue, Py_ssize_t number)
{
    PyObject *next = PyLong_FromSsize_t(number);
    if (next == NULL)
        return -1;
    slot_set(queue, queue_slots[QUEUE_NUMBER], next);
    Py_DECREF(next);
    return 0;
}

/* Take out an entry that comes before all that is first in, first out, or is that itself; what was
 * cancelled goes with it. */
static Progress
take_alone(PyObject *queue, PyObject *state, PyObject *entry)
{
    PyObject *turn = OF_STATE(TURN), *left = PyList_New(0);
    Py_ssize_t number = slot_int(queue, queue_slots[QUEUE_NUMBER]);
    bool has_come = false, is_blocked = false, must_come = false, is_late = false;
    int result = left == NULL ? -1 : 0;
    number += turn_of(entry) > number;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(turn); i++) {
        PyObject *each = PyList_GET_ITEM(turn, i);
        int is_cancelled = is_cancelled_entry(each);
        if (is_cancelled != 0) {
            result = is_cancelled < 0 ? -1 : 0;
            is_blocked = is_blocked || each == entry;
            continue;
        }
        bool is_fifo = ENTRY(each, ENTRY_ORDER) == order_fifo;
        is_blocked = is_blocked || (each == entry && must_come);
        must_come = must_come || is_fifo;
        has_come = has_come || each == entry;
        if (each != entry) {
            is_late = is_late || turn_of(each) < number;
            result = PyList_Append(left, each);
        }
    }
    bool may_differ = !must_come && (PyList_GET_SIZE(OF_STATE(FOLLOWING)) != 0 ||
                                     PyList_GET_SIZE(OF_STATE(ARRIVED)) != 0);
    if (result < 0 || !has_come || is_blocked || may_differ) {
        Py_XDECREF(left);
        return result < 0 ? FAILED : RARE;
    }
    slot_set(state, queue_state_slots[IS_NEW], Py_False);
    slot_set(state, queue_state_slots[TURN], left);
    Py_DECREF(left);
    result = count_turn(queue, number);
    return result < 0 || (is_late && delay_late(queue) < 0) ? FAILED : DONE;
}

static Progress
try_take(PyObject *queue, PyObject *entry)
{
    PyObject *state = only_state(queue);
    if (state == NULL || !Py_IS_TYPE(entry, entry_type) || ENTRY(entry, ENTRY_ORDER) == order_timer)
        return RARE;
    PyObject *turn = OF_STATE(TURN);
    if (PyList_GET_SIZE(turn) == 0 || PyList_GET_ITEM(turn, 0) != entry ||
        ENTRY(entry, ENTRY_ORDER) != order_fifo)
        return take_alone(queue, state, entry);
    int is_cancelled = is_cancelled_entry(entry);
    if (is_cancelled != 0)
        return is_cancelled < 0 ? FAILED : RARE;
    /* Most steps: however many there are, only the first one is looked at. */
    Py_ssize_t gone = 1;
    while (gone < PyList_GET_SIZE(turn) &&
           (is_cancelled = is_cancelled_entry(PyList_GET_ITEM(turn, gone))) > 0)
        gone++;
    Py_ssize_t number = slot_int(queue, queue_slots[QUEUE_NUMBER]), own = turn_of(entry);
    slot_set(state, queue_state_slots[IS_NEW], Py_False);
    if (is_cancelled < 0 || PyList_SetSlice(turn, 0, gone, NULL) < 0)
        return FAILED;
    if (own > number && (count_turn(queue, number + 1) < 0 || delay_late(queue) < 0))
        return FAILED;
    return DONE;
}

/* Whether all of some entries may be late, or are cancelled; -1: an exception is set. */
static int
are_arrivals(PyObject *entries)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(entries); i++) {
        PyObject *entry = PyList_GET_ITEM(entries, i);
        int is_cancelled = ENTRY(entry, ENTRY_ORDER) == order_fifo ? is_cancelled_entry(entry) : 1;
        if (is_cancelled <= 0)
            return is_cancelled;
    }
    return 1;
}

Progress
next_arrivals(PyObject *queue, PyObject **found, bool *may_end)
{
    PyObject *state = only_state(queue);
    if (state == NULL || PyList_GET_SIZE(OF_STATE(FOLLOWING)) != 0 ||
        PyList_GET_SIZE(OF_STATE(ARRIVED)) != 0)
        return RARE;
    PyObject *turn = OF_STATE(TURN);
    int ends = are_arrivals(turn);
    if (ends < 0 || (*found = PyList_New(0)) == NULL)
        return FAILED;
    *may_end = ends;
    bool has_timer = false, is_done = false;
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && !is_done && i < PyList_GET_SIZE(turn); i++) {
        PyObject *entry = PyList_GET_ITEM(turn, i), *order = ENTRY(entry, ENTRY_ORDER);
        int is_cancelled = is_cancelled_entry(entry);
        if (is_cancelled != 0 || (order == order_timer && has_timer)) {
            result = is_cancelled < 0 ? -1 : 0;
            continue;
        }
        has_timer = has_timer || order == order_timer;
        is_done = order == order_fifo;
        result = PyList_Append(*found, entry);
    }
    if (result == 0 && PyList_GET_SIZE(*found) > 0)
        return DONE;
    Py_CLEAR(*found);
    return result < 0 ? FAILED : RARE;
}

static PyObject *
take(PyObject *queue, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count == 1) {
        Progress progress = try_take(queue, arguments[0]);
        if (progress != RARE)
            return progress == FAILED ? NULL : Py_NewRef(Py_False);
    }
    PyObject *all[4] = {queue};
    Py_ssize_t given = count + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    if (given > 3) {
        PyErr_SetString(PyExc_TypeError, "take() takes entry and may_end");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < given; i++)
        all[i + 1] = arguments[i];
    return PyObject_Vectorcall(fast_paths[0].reference, all, (size_t)count + 1, names);
}

/* ReadyQueue.begin_turn, where nothing has arrived. */
Progress
begin_turn_of_queue(PyObject *queue)
{
    PyObject *state = only_state(queue);
    if (state == NULL)
        return RARE;
    Py_ssize_t number = slot_int(queue, queue_slots[QUEUE_NUMBER]) + 1;
    PyObject *parts[] = {OF_STATE(FOLLOWING), OF_STATE(TURN), OF_STATE(ARRIVED)};
    PyObject *turn = PyList_New(0), *following = PyList_New(0), *arrived = PyList_New(0);
    bool is_late = false;
    int result = turn == NULL || following == NULL || arrived == NULL ? -1 : 0;
    for (int part = 0; part < 3; part++)
        for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(parts[part]); i++) {
            PyObject *entry = PyList_GET_ITEM(parts[part], i);
            int is_cancelled = is_cancelled_entry(entry);
            if (is_cancelled != 0)
                result = is_cancelled < 0 ? -1 : 0;
            else {
                result = PyList_Append(turn, entry);
                is_late = is_late || turn_of(entry) < number;
            }
        }
    if (result == 0) {
        result = count_turn(queue, number);
        slot_set(state, queue_state_slots[TURN], turn);
        slot_set(state, queue_state_slots[FOLLOWING], following);
        slot_set(state, queue_state_slots[ARRIVED], arrived);
        slot_set(state, queue_state_slots[IS_NEW], Py_True);
    }
    Py_XDECREF(turn);
    Py_XDECREF(following);
    Py_XDECREF(arrived);
    if (result == 0 && is_late)
        result = delay_late(queue);
    return result < 0 ? FAILED : DONE;
}

static FastPath fast_paths[] = {
    {{"take", (PyCFunction)(void (*)(void))take, METH_FASTCALL | METH_KEYWORDS,
      "See the method in Python."},
     NULL},
    {{0}, NULL},
};

int
use_queue(PyObject *queue, PyObject *state, PyObject *entry, PyObject *timer)
{
    const Name names[] = {{&text_delay, "_delay"}};
    if (find_slots(queue, queue_slots) < 0 || find_slots(state, queue_state_slots) < 0 ||
        make_names(names, 1) < 0)
        return -1;
    entry_type = (PyTypeObject *)Py_NewRef(entry);
    order_timer = Py_NewRef(timer);
    return take_over(queue, fast_paths);
}
