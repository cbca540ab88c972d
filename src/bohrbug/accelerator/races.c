/* The races of the steps of a trace that touch one resource each.
 *
 * See RaceFinder._take_plain in bohrbug/search/races_of_trace.py, whose fast path this is, and
 * RaceFinder._reverse, of which it does the common cases.
 */
#include "accelerator.h"
#include "events.h"

typedef struct {
    PyObject *trace, *names, *operations, *choices, *enabled, *timed; /* the trace */
    PyObject *recorded, *tasks, *footprints, *touched, *clocks, *known;
    PyObject *last, *previous, *undo, *zero;
    PyObject *numbers, *entries, *single, *types;
    PyObject *never_block, *everything, *untouched, *opens;
    PyObject *footprint_of, *reverse, *found;
    Py_ssize_t start, end, limit;
    int is_plain; /* the trace has nothing beside its operations that was_open looks at */
} Taking;

/* One step, while it is taken in. */
typedef struct {
    Py_ssize_t step, task, previous;
    PyObject *name, *number, *kind, *resource, *footprint;
    PyObject *clock; /* owned */
} Plain;

static Py_ssize_t
number_at(PyObject *list, Py_ssize_t index)
{
    if (index < 0 || index >= PyList_GET_SIZE(list)) {
        PyErr_SetString(PyExc_IndexError, "there are not so many steps or tasks");
        return -2;
    }
    Py_ssize_t number = PyLong_AsSsize_t(PyList_GET_ITEM(list, index));
    return number == -1 && PyErr_Occurred() ? -2 : number;
}

/* The writer of an entry; -2: exception */
static Py_ssize_t
writer_of(PyObject *entry)
{
    Py_ssize_t writer = PyLong_AsSsize_t(PyTuple_GET_ITEM(entry, 0));
    return writer == -1 && PyErr_Occurred() ? -2 : writer;
}

/* What was noted of a resource before a step that touched it, borrowed; NULL, perhaps without an
 * exception, if it did not. */
static PyObject *
entry_before(const Taking *taking, Py_ssize_t step, PyObject *resource)
{
    if (step >= PyList_GET_SIZE(taking->undo))
        return NULL;
    PyObject *touched = PyList_GET_ITEM(taking->undo, step);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(touched); i++) {
        PyObject *pair = PyList_GET_ITEM(touched, i);
        int same = PyObject_RichCompareBool(PyTuple_GET_ITEM(pair, 0), resource, Py_EQ);
        if (same)
            return same < 0 ? NULL : PyTuple_GET_ITEM(pair, 1);
    }
    return NULL;
}

/* Whether the trace says that a task could have run before a step; -1: exception */
static int
could_run(const Taking *taking, PyObject *name, Py_ssize_t step)
{
    PyObject *timed = PyList_GET_ITEM(taking->timed, step);
    int result = PySequence_Contains(PyList_GET_ITEM(taking->enabled, step), name);
    if (result == 0 && !(PyTuple_CheckExact(timed) && PyTuple_GET_SIZE(timed) == 0))
        result = PySequence_Contains(timed, name);
    return result;
}

/* Note that the step of ``plain`` can come before an earlier one. */
static Progress
note_reversal(const Taking *taking, const Plain *plain, Py_ssize_t earlier)
{
    if (earlier >= taking->limit)
        return DONE;
    PyObject *event = new_event(plain->number, PyList_GET_ITEM(taking->choices, plain->step),
                                plain->footprint);
    PyObject *reversal =
        event == NULL ? NULL : new_certain_reversal(taking->recorded, earlier, event, plain->step);
    int result = reversal == NULL ? -1 : PyList_Append(taking->found, reversal);
    Py_XDECREF(event);
    Py_XDECREF(reversal);
    return result < 0 ? FAILED : DONE;
}

/* Whether an operation would have been possible just before a step on its resource, to which its
 * task came only later: what was_open in bohrbug/search/enabledness.py tells from kinds of
 * operations alone. */
static Progress
was_open(const Taking *taking, const Plain *plain, Py_ssize_t step, bool *open)
{
    int never = PySet_Contains(taking->never_block, plain->kind);
    *open = true;
    if (never != 0)
        return never < 0 ? FAILED : DONE;
    PyObject *entry = taking->is_plain ? entry_before(taking, step, plain->resource) : NULL;
    PyObject *type = entry == NULL ? NULL
                                   : PyDict_GetItemWithError(taking->types, plain->resource);
    if (type == NULL)
        return PyErr_Occurred() ? FAILED : RARE;
    Py_ssize_t writer = writer_of(entry);
    if (writer < 0)
        return writer == -2 ? FAILED : RARE;
    PyObject *key = PyTuple_Pack(2, plain->kind, type);
    PyObject *leaves = key == NULL ? NULL : PyDict_GetItemWithError(taking->opens, key);
    Py_XDECREF(key);
    if (leaves == NULL)
        return PyErr_Occurred() ? FAILED : RARE;
    PyObject *operation = PyList_GET_ITEM(taking->operations, writer);
    int same = PyObject_RichCompareBool(PyTuple_GET_ITEM(operation, 1), plain->resource, Py_EQ);
    if (same <= 0)
        return same < 0 ? FAILED : RARE;
    PyObject *left = PyDict_GetItemWithError(leaves, PyTuple_GET_ITEM(operation, 0));
    if (left == NULL)
        return PyErr_Occurred() ? FAILED : RARE;
    *open = left == Py_True;
    return DONE;
}

/* RaceFinder._reverse, where it is certain what was possible. */
static Progress
reverse_certainly(const Taking *taking, const Plain *plain, Py_ssize_t other)
{
    Py_ssize_t standing = plain->previous + 1;
    Py_ssize_t writer = other;
    if (other >= standing) {
        int possible = could_run(taking, plain->name, other);
        if (possible != 0)
            return possible < 0 ? FAILED : note_reversal(taking, plain, other);
    }
    PyObject *entry = entry_before(taking, other, plain->resource);
    if (entry == NULL)
        return PyErr_Occurred() ? FAILED : RARE;
    if (other >= standing && (writer = writer_of(entry)) == -2)
        return FAILED;
    PyObject *before = taking->zero;
    if (plain->previous >= 0)
        before = PyList_GET_ITEM(taking->clocks, plain->previous);
    while (writer >= 0) {
        Py_ssize_t of = number_at(taking->tasks, writer);
        Py_ssize_t reached = of == -2 ? -1 : clock_at(before, of);
        if (reached < 0)
            return FAILED;
        if (reached > writer || of == plain->task)
            break;
        bool possible;
        Progress progress = DONE;
        if (writer < standing) {
            progress = was_open(taking, plain, writer, &possible);
        } else {
            int could = could_run(taking, plain->name, writer);
            possible = could > 0;
            progress = could < 0 ? FAILED : DONE;
        }
        if (progress != DONE)
            return progress;
        if (possible)
            return note_reversal(taking, plain, writer);
        entry = entry_before(taking, writer, plain->resource);
        if (entry == NULL)
            return PyErr_Occurred() ? FAILED : RARE;
        if ((writer = writer_of(entry)) == -2)
            return FAILED;
    }
    return DONE;
}

/* What a race with an earlier step comes to: a reversal, perhaps, and what is known by it. */
static int
race_with(const Taking *taking, Plain *plain, Py_ssize_t other)
{
    if (other < 0)
        return 0;
    Py_ssize_t of = number_at(taking->tasks, other);
    Py_ssize_t reached = of == -2 ? -1 : clock_at(plain->clock, of);
    if (reached < 0)
        return -1;
    if (reached > other)
        return 0;
    Progress progress = reverse_certainly(taking, plain, other);
    if (progress == RARE) {
        PyObject *result =
            PyObject_CallFunction(taking->reverse, "OnnOO", taking->trace, plain->step, other,
                                  plain->clock, taking->found);
        if (result == NULL)
            return -1;
        Py_DECREF(result);
    } else if (progress == FAILED) {
        return -1;
    }
    PyObject *theirs = PyList_GET_ITEM(taking->clocks, other);
    Py_ssize_t size = PyList_GET_SIZE(plain->clock);
    if (PyList_GET_SIZE(theirs) < size)
        size = PyList_GET_SIZE(theirs);
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *their = PyList_GET_ITEM(theirs, i);
        Py_ssize_t mine = clock_at(plain->clock, i), number = clock_at(theirs, i);
        if (mine < 0 || number < 0)
            return -1;
        if (number > mine)
            PyList_SetItem(plain->clock, i, Py_NewRef(their));
    }
    return 0;
}

static int
latest_first(const void *first, const void *second)
{
    Py_ssize_t a = *(const Py_ssize_t *)first, b = *(const Py_ssize_t *)second;
    return (a < b) - (a > b);
}

/* A write races with the last write and all reads since, the latest first. */
static int
race_as_write(const Taking *taking, Plain *plain, PyObject *entry)
{
    Py_ssize_t writer = writer_of(entry);
    PyObject *readers = PyTuple_GET_ITEM(entry, 1);
    Py_ssize_t count = PyTuple_GET_SIZE(readers);
    if (writer == -2)
        return -1;
    if (count == 0)
        return race_with(taking, plain, writer);
    Py_ssize_t *others = PyMem_New(Py_ssize_t, count + 1);
    if (others == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    int result = 0;
    others[count] = writer;
    for (Py_ssize_t i = 0; i < count; i++)
        others[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(readers, i));
    qsort(others, (size_t)count + 1, sizeof *others, latest_first);
    for (Py_ssize_t i = 0; i <= count && result == 0; i++)
        result = race_with(taking, plain, others[i]);
    PyMem_Free(others);
    return result;
}

/* The entry of a resource after a read: the reader comes last, and once. */
static PyObject *
entry_after_read(const Taking *taking, const Plain *plain, PyObject *entry)
{
    PyObject *readers = PyTuple_GET_ITEM(entry, 1), *kept = PyList_New(0);
    PyObject *step = PyLong_FromSsize_t(plain->step), *result = NULL;
    bool failed = kept == NULL || step == NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(readers) && !failed; i++) {
        PyObject *reader = PyTuple_GET_ITEM(readers, i);
        Py_ssize_t of = number_at(taking->tasks, PyLong_AsSsize_t(reader));
        failed = of == -2 || (of != plain->task && PyList_Append(kept, reader) < 0);
    }
    if (!failed && PyList_Append(kept, step) == 0) {
        PyObject *all = PyList_AsTuple(kept);
        result = all == NULL ? NULL : PyTuple_Pack(2, PyTuple_GET_ITEM(entry, 0), all);
        Py_XDECREF(all);
    }
    Py_XDECREF(kept);
    Py_XDECREF(step);
    return result;
}

static int
append_new(PyObject *list, PyObject *item)
{
    int result = item == NULL ? -1 : PyList_Append(list, item);
    Py_XDECREF(item);
    return result;
}

/* The columns that a race looks at, before the step races. */
static int
begin_step(const Taking *taking, Plain *plain)
{
    PyObject *before = taking->zero;
    if (plain->previous >= PyList_GET_SIZE(taking->clocks)) {
        PyErr_SetString(PyExc_IndexError, "there are not so many clocks");
        return -1;
    }
    if (plain->previous >= 0)
        before = PyList_GET_ITEM(taking->clocks, plain->previous);
    plain->clock = PyList_GetSlice(before, 0, PyList_GET_SIZE(before));
    Py_ssize_t steps = PyList_GET_SIZE(taking->known);
    PyObject *known = steps == 0 ? NULL : PyList_GET_ITEM(taking->known, steps - 1), *more = NULL;
    for (Py_ssize_t i = 0; i < 2 && known != NULL; i++) {
        known = PyNumber_Or(known, PyTuple_GET_ITEM(plain->footprint, i));
        Py_XSETREF(more, known);
    }
    if (plain->clock == NULL || append_new(taking->known, more) < 0 ||
        PyList_Append(taking->tasks, plain->number) < 0 ||
        PyList_Append(taking->footprints, plain->footprint) < 0 ||
        PyList_Append(taking->touched, plain->footprint) < 0)
        return -1;
    return 0;
}

/* What the step has changed. */
static int
end_step(const Taking *taking, Plain *plain, PyObject *entry, PyObject *new_entry)
{
    PyObject *step = PyLong_FromSsize_t(plain->step);
    PyObject *pair = PyTuple_Pack(2, plain->resource, entry);
    PyObject *undo = pair == NULL ? NULL : PyList_New(1);
    if (undo != NULL)
        PyList_SET_ITEM(undo, 0, Py_NewRef(pair));
    Py_XDECREF(pair);
    int result = append_new(taking->undo, undo);
    if (result == 0 && step != NULL)
        result = PyDict_SetItem(taking->entries, plain->resource, new_entry);
    if (result == 0)
        result = PyList_SetItem(plain->clock, plain->task, PyLong_FromSsize_t(plain->step + 1));
    if (result == 0)
        result = PyList_Append(taking->clocks, plain->clock);
    if (result == 0)
        result = append_new(taking->previous, PyLong_FromSsize_t(plain->previous));
    if (result == 0 && step != NULL)
        result = PyList_SetItem(taking->last, plain->task, Py_NewRef(step));
    Py_XDECREF(step);
    return step == NULL ? -1 : result;
}

/* Footprints.of, borrowed from the cache that it keeps */
static PyObject *
footprint_of(const Taking *taking, PyObject *is_write, PyObject *resource)
{
    PyObject *key = PyTuple_Pack(2, is_write, resource);
    PyObject *footprint = key == NULL ? NULL : PyDict_GetItemWithError(taking->single, key);
    Py_XDECREF(key);
    if (footprint == NULL && !PyErr_Occurred()) {
        footprint =
            PyObject_CallFunctionObjArgs(taking->footprint_of, is_write, resource, NULL);
        Py_XDECREF(footprint);
    }
    return footprint;
}

/* One step. RARE: it touches everything, and nothing was done. */
static Progress
take_step(const Taking *taking, Py_ssize_t step)
{
    PyObject *operation = PyList_GET_ITEM(taking->operations, step);
    Plain plain = {.step = step, .name = PyList_GET_ITEM(taking->names, step)};
    plain.kind = PyTuple_GET_ITEM(operation, 0);
    plain.resource = PyTuple_GET_ITEM(operation, 1);
    PyObject *is_write = PyObject_GetAttrString(plain.kind, "is_write");
    if (is_write == NULL)
        return FAILED;
    Py_DECREF(is_write); /* True and False are never freed */
    plain.footprint = footprint_of(taking, is_write, plain.resource);
    if (plain.footprint == NULL)
        return FAILED;
    if (plain.footprint == taking->everything)
        return RARE;
    plain.number = PyDict_GetItemWithError(taking->numbers, plain.name);
    if (plain.number == NULL) {
        if (!PyErr_Occurred())
            PyErr_SetObject(PyExc_KeyError, plain.name);
        return FAILED;
    }
    plain.task = PyLong_AsSsize_t(plain.number);
    plain.previous = number_at(taking->last, plain.task);
    if (plain.previous == -2)
        return FAILED;
    PyObject *entry = PyDict_GetItemWithError(taking->entries, plain.resource), *new_entry = NULL;
    if (entry == NULL && PyErr_Occurred())
        return FAILED;
    entry = Py_NewRef(entry == NULL ? taking->untouched : entry);
    int result = begin_step(taking, &plain);
    if (result == 0 && is_write == Py_True) {
        result = race_as_write(taking, &plain, entry);
        new_entry = result < 0 ? NULL : Py_BuildValue("n()", step);
    } else if (result == 0) {
        Py_ssize_t writer = writer_of(entry);
        result = writer == -2 ? -1 : race_with(taking, &plain, writer);
        new_entry = result < 0 ? NULL : entry_after_read(taking, &plain, entry);
    }
    if (new_entry == NULL || end_step(taking, &plain, entry, new_entry) < 0)
        result = -1;
    Py_DECREF(entry);
    Py_XDECREF(new_entry);
    Py_XDECREF(plain.clock);
    return result < 0 ? FAILED : DONE;
}

/* Whether all columns of the trace have ``end`` steps, and those before have ``start``. */
static int
has_steps(const Taking *taking)
{
    PyObject *columns[] = {taking->names, taking->operations, taking->choices, taking->enabled,
                           taking->timed};
    PyObject *before[] = {taking->tasks, taking->footprints, taking->touched, taking->clocks,
                          taking->undo, taking->previous};
    bool has = taking->start >= 0;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        has = has && PyList_GET_SIZE(columns[i]) >= taking->end;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        has = has && PyList_GET_SIZE(before[i]) == taking->start;
    has = has && PyList_GET_SIZE(taking->known) == taking->start + 1;
    if (!has)
        PyErr_SetString(PyExc_ValueError, "there are not so many steps");
    return has ? 0 : -1;
}

/* take_plain_steps(trace, columns of the trace, recorded, columns of the recorded, lists, look-ups,
 * constants, footprint_of, reverse, (start, end, limit), is_plain, found): the first step that is no
 * plain one, or end. */
PyObject *
take_plain_steps(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Taking t;
    if (!PyArg_ParseTuple(
            arguments, "O(O!O!O!O!O!)O(O!O!O!O!O!)(O!O!O!O!)(O!O!O!O!)(OOO!O!)OO(nnn)pO!", &t.trace,
            &PyList_Type, &t.names, &PyList_Type, &t.operations, &PyList_Type, &t.choices,
            &PyList_Type, &t.enabled, &PyList_Type, &t.timed, &t.recorded, &PyList_Type, &t.tasks,
            &PyList_Type, &t.footprints, &PyList_Type, &t.touched, &PyList_Type, &t.clocks,
            &PyList_Type, &t.known, &PyList_Type, &t.last, &PyList_Type, &t.previous, &PyList_Type,
            &t.undo, &PyList_Type, &t.zero, &PyDict_Type, &t.numbers, &PyDict_Type, &t.entries,
            &PyDict_Type, &t.single, &PyDict_Type, &t.types, &t.never_block, &t.everything,
            &PyTuple_Type, &t.untouched, &PyDict_Type, &t.opens, &t.footprint_of, &t.reverse,
            &t.start, &t.end, &t.limit, &t.is_plain, &PyList_Type, &t.found) ||
        has_steps(&t) < 0)
        return NULL;
    Py_ssize_t step = t.start;
    Progress progress = DONE;
    while (step < t.end && (progress = take_step(&t, step)) == DONE)
        step++;
    return progress == FAILED ? NULL : PyLong_FromSsize_t(step);
}
