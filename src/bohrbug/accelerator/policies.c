/* The policies of core/policy.h, asked about tasks of Python: executors, as runtime/policies/ has them.
 *
 * Of each task there is kept what the core wants to know of its pending operation, until it has another.
 */
#include "scheduling.h"

#include "core/policy.h"

enum { KIND, RESOURCE, PLACE };
enum policy { UNIFORM_RANDOM, PRIORITIES, PARTIAL_ORDER, WEIGHTED };

/* What is known of a task beside what the core knows. */
typedef struct {
    PyObject *id;              /* of the task, or NULL: the number is free */
    PyObject *operation;       /* the one that it is about to do, or None; NULL: it is new */
    Py_hash_t resource;
    bool writes, yields;
    bool is_at_point;          /* it is a decision wherever it acts on */
} Pending;

typedef struct {
    PyObject_HEAD
    enum policy policy;
    struct policy_state state;
    uint32_t room;             /* for so many tasks */
    uint32_t tasks_count;      /* one more than the highest number of those that are known */
    struct policy_task *tasks;
    Pending *pending;
    PyObject *points;          /* where operations are decisions, or None: everywhere */
    PyObject *selected;        /* where they are selected ones, or None: everywhere (SURW) */
    PyObject *named;           /* resources on which each is a decision, or NULL (POS) */
    PyObject *numbers;         /* of tasks, by id */
    uint32_t next_number;      /* no lower one is free */
    PyObject *name_numbers;    /* indices of names, by the id of their task (SURW) */
    struct name_in_plan *names;
    uint32_t names_count;
} Decider;

static PyTypeObject decider_type;
static PyObject *point_of;     /* site.point_of */
static PyObject *text_index, *text_pending, *text_id;

/* -- tasks -------------------------------------------------------------------------------------- */

static inline bool
is_task(PyObject *object)
{
    return task_type != NULL && Py_IS_TYPE(object, task_type);
}

/* What the task is about to do, or its id; a new reference. */
static inline PyObject *
pending_of(PyObject *task)
{
    return is_task(task) ? Py_NewRef(TASK(task, PENDING)) : PyObject_GetAttr(task, text_pending);
}

static PyObject *
id_of(PyObject *task)
{
    return is_task(task) ? Py_NewRef(TASK(task, ID)) : PyObject_GetAttr(task, text_id);
}

/* Room for the task with a number. */
static int
make_room(Decider *self, uint32_t number)
{
    uint32_t room = self->room ? self->room : 8;
    while (room <= number)
        room *= 2;
    struct policy_task *tasks = PyMem_Realloc(self->tasks, room * sizeof *tasks);
    if (tasks != NULL)
        self->tasks = tasks;
    Pending *pending = tasks == NULL ? NULL : PyMem_Realloc(self->pending, room * sizeof *pending);
    if (pending == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->pending = pending;
    memset(tasks + self->room, 0, (room - self->room) * sizeof *tasks);
    memset(pending + self->room, 0, (room - self->room) * sizeof *pending);
    self->room = room;
    return 0;
}

/* A number for a task that has none yet: its index, unless another task has that. */
static uint32_t
next_number(Decider *self, Py_ssize_t index)
{
    if ((size_t)index < self->room ? self->pending[index].id == NULL : index <= UINT16_MAX)
        return (uint32_t)index;
    while (self->next_number < UINT16_MAX && self->next_number < self->room &&
           self->pending[self->next_number].id != NULL)
        self->next_number++;
    /* Those that are too many share the last one. */
    return self->next_number;
}

/* The number of the task with an id, which gets one if it has none; NO_TASK: exception. */
static uint32_t
number_by_id(Decider *self, PyObject *id, Py_ssize_t index)
{
    PyObject *known = PyDict_GetItemWithError(self->numbers, id);
    if (known != NULL)
        return (uint32_t)PyLong_AsUnsignedLong(known);
    uint32_t number = PyErr_Occurred() ? NO_TASK : next_number(self, index);
    if (number == NO_TASK || (number >= self->room && make_room(self, number) < 0))
        return NO_TASK;
    PyObject *own = PyLong_FromUnsignedLong(number);
    if (own == NULL || PyDict_SetItem(self->numbers, id, own) < 0)
        number = NO_TASK;
    else if (self->pending[number].id == NULL)
        self->pending[number].id = Py_NewRef(id);
    if (number != NO_TASK && number >= self->tasks_count)
        self->tasks_count = number + 1;
    Py_XDECREF(own);
    return number;
}

/* The number of a task, for which there is room now; NO_TASK: an exception is set, or it is none.
 *
 * It goes by the id: the tasks of an event loop have the index of the thread that runs it. */
static uint32_t
number_of(Decider *self, PyObject *task)
{
    Py_ssize_t index;
    if (is_task(task)) {
        index = slot_int(task, task_slots[INDEX]);
    } else {
        PyObject *value = PyObject_GetAttr(task, text_index);
        index = value == NULL ? -1 : int_value(value);
        Py_XDECREF(value);
    }
    if (index < 0)
        return NO_TASK;
    PyObject *id = id_of(task);
    if (id == NULL)
        return NO_TASK;
    uint32_t number = (uint32_t)index;
    if ((size_t)index >= self->room || self->pending[index].id != id)
        number = number_by_id(self, id, index);
    Py_DECREF(id);
    return number;
}

/* -- what they are about to do ------------------------------------------------------------------- */

/* Whether the point of an operation is in a set; -1: exception */
static int
is_among(PyObject *operation, PyObject *points)
{
    PyObject *point = PyObject_CallOneArg(point_of, operation);
    int found = point == NULL ? -1 : PySequence_Contains(points, point);
    Py_XDECREF(point);
    return found;
}

/* The task that made one with this id, among those that were an option; NO_TASK: none, or exception */
static uint32_t
parent_of(Decider *self, PyObject *id)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(id);
    Py_ssize_t dot = PyUnicode_FindChar(id, '.', 0, length, -1);
    PyObject *parent = dot < 0 ? NULL : PyUnicode_Substring(id, 0, dot);
    PyObject *known = parent == NULL ? NULL : PyDict_GetItemWithError(self->numbers, parent);
    Py_XDECREF(parent);
    if (known == NULL)
        return NO_TASK;
    uint32_t number = (uint32_t)PyLong_AsUnsignedLong(known);
    return self->pending[number].operation == NULL ? NO_TASK : number;
}

/* SURW meets a task for the first time. */
static int
meet(Decider *self, uint32_t number, PyObject *task)
{
    PyObject *id = id_of(task);
    int result = -1;
    if (id != NULL && PyUnicode_Check(id)) {
        struct policy_task *its = &self->tasks[number];
        its->parent = parent_of(self, id);
        its->name = NO_TASK;
        PyObject *name = PyDict_GetItemWithError(self->name_numbers, id);
        size_t index = name == NULL ? self->names_count : PyLong_AsSize_t(name);
        if (index < self->names_count) {
            its->name = (uint32_t)index;
            self->names[index].task = number + 1;
        }
        result = PyErr_Occurred() ? -1 : 0;
    } else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "the id of a task is a string");
    }
    Py_XDECREF(id);
    return result;
}

/* What the core wants to know of an operation. */
static int
look_at(Decider *self, uint32_t number, PyObject *operation)
{
    Pending *known = &self->pending[number];
    struct policy_task *its = &self->tasks[number];
    its->is_quiet = its->is_selected = 0;
    if (operation == Py_None)
        return 0;
    if (!PyTuple_Check(operation) || PyTuple_GET_SIZE(operation) <= PLACE) {
        PyErr_SetString(PyExc_TypeError, "a pending operation is an Operation");
        return -1;
    }
    PyObject *kind = PyTuple_GET_ITEM(operation, KIND), *resource = PyTuple_GET_ITEM(operation, RESOURCE);
    known->writes = slot_get(kind, kind_slots[KIND_IS_WRITE]) == Py_True;
    known->yields = slot_get(kind, kind_slots[KIND_IS_YIELD]) != Py_False;
    known->resource = PyObject_Hash(resource);
    int at_point = self->points == Py_None ? 1 : is_among(operation, self->points);
    known->is_at_point = at_point != 0;
    its->is_quiet = !at_point && !known->yields;
    int is_selected = at_point;
    if (self->policy == WEIGHTED && self->selected != self->points)
        is_selected = self->selected == Py_None ? 1 : is_among(operation, self->selected);
    its->is_selected = is_selected > 0;
    return at_point < 0 || is_selected < 0 || PyErr_Occurred() ? -1 : 0;
}

/* Whether the resource is one that is named may change. */
static int
look_at_named(Decider *self, uint32_t number)
{
    const Pending *known = &self->pending[number];
    if (self->named == NULL || known->operation == Py_None || known->is_at_point || known->yields)
        return 0;
    int named = PySequence_Contains(self->named, PyTuple_GET_ITEM(known->operation, RESOURCE));
    self->tasks[number].is_quiet = !named;
    return named < 0 ? -1 : 0;
}

/* Know of a task what it is about to do. */
static int
note_pending(Decider *self, uint32_t number, PyObject *task)
{
    PyObject *operation = pending_of(task), *known = self->pending[number].operation;
    if (operation == NULL)
        return -1;
    if (operation == known) {
        Py_DECREF(operation);
        return look_at_named(self, number);
    }
    if ((known == NULL && self->policy == WEIGHTED && meet(self, number, task) < 0) ||
        look_at(self, number, operation) < 0) {
        Py_DECREF(operation);
        return -1;
    }
    Py_XSETREF(self->pending[number].operation, operation);
    return look_at_named(self, number);
}

static bool
conflict_between(const void *decider, uint32_t one, uint32_t other)
{
    const Pending *first = &((const Decider *)decider)->pending[one];
    const Pending *second = &((const Decider *)decider)->pending[other];
    if (first->operation == Py_None || second->operation == Py_None ||
        first->resource != second->resource || !(first->writes || second->writes))
        return false;
    return PyObject_RichCompareBool(PyTuple_GET_ITEM(first->operation, RESOURCE),
                                    PyTuple_GET_ITEM(second->operation, RESOURCE), Py_EQ) == 1;
}

/* -- choosing -------------------------------------------------------------------------------------- */

/* The tasks that there are to choose from, borrowed: first those that are enabled. */
typedef struct {
    PyObject *const *enabled, *const *timed;
    Py_ssize_t enabled_count, timed_count;
} Tasks;

static inline PyObject *
task_at(const Tasks *tasks, Py_ssize_t i)
{
    return i < tasks->enabled_count ? tasks->enabled[i] : tasks->timed[i - tasks->enabled_count];
}

static int
fill_numbers(Decider *self, const Tasks *tasks, uint16_t *numbers)
{
    bool looks = self->policy != PRIORITIES;
    for (Py_ssize_t i = 0; i < tasks->enabled_count + tasks->timed_count; i++) {
        PyObject *task = task_at(tasks, i);
        uint32_t number = number_of(self, task);
        if (number == NO_TASK) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a task without a number");
            return -1;
        }
        if (looks && note_pending(self, number, task) < 0)
            return -1;
        numbers[i] = (uint16_t)number;
    }
    return 0;
}

/* What is asked of a policy. */
typedef enum { CHOICE, AT_ONCE, HIGHEST } Question;

static uint32_t
ask(Decider *self, Question question, const struct options *options, uint32_t running, bool yielded,
    uint32_t step)
{
    struct conflicts conflicts = {conflict_between, self};
    struct weights weights = {self->tasks, self->tasks_count, self->names, self->names_count};
    if (question == AT_ONCE)
        return runs_at_once(self->tasks, options, running, yielded);
    if (question == HIGHEST)
        return highest_priority(&self->state, self->tasks, options);
    if (self->policy == PRIORITIES)
        return by_priority(&self->state, self->tasks, options, running, yielded, step);
    if (self->policy == WEIGHTED)
        return by_weight(&self->state, &weights, options, running, yielded);
    return by_partial_order(&self->state, self->tasks, options, running, yielded, conflicts);
}

/* The task that is the answer, borrowed; None: there is none; NULL: exception. */
static PyObject *
answer(Decider *self, Question question, const Tasks *tasks, PyObject *running, bool yielded,
       uint32_t step, uint16_t *numbers)
{
    if (fill_numbers(self, tasks, numbers) < 0)
        return NULL;
    uint32_t runner = number_of(self, running);
    if (runner == NO_TASK && PyErr_Occurred())
        return NULL;
    struct options options = {numbers, numbers + tasks->enabled_count,
                              (uint32_t)tasks->enabled_count, (uint32_t)tasks->timed_count};
    uint32_t chosen = ask(self, question, &options, runner, yielded && runner != NO_TASK, step);
    for (Py_ssize_t i = 0; i < tasks->enabled_count + tasks->timed_count; i++)
        if (numbers[i] == chosen)
            return task_at(tasks, i);
    return Py_None;
}

static PyObject *
answered(Decider *self, Question question, const Tasks *tasks, PyObject *running, bool yielded,
         Py_ssize_t step)
{
    Py_ssize_t count = tasks->enabled_count + tasks->timed_count;
    if (self->policy == UNIFORM_RANDOM)
        return task_at(tasks, count == 1 ? 0 : draw_below(&self->state.random, (uint32_t)count));
    uint16_t few[MANY_TASKS];
    uint16_t *numbers = count <= MANY_TASKS ? few : PyMem_New(uint16_t, count);
    if (numbers == NULL)
        return PyErr_NoMemory();
    PyObject *task = answer(self, question, tasks, running, yielded, (uint32_t)step, numbers);
    if (numbers != few)
        PyMem_Free(numbers);
    return task;
}

bool
is_decider(PyObject *object)
{
    return Py_IS_TYPE(object, &decider_type);
}

PyObject *
choose_enabled(PyObject *decider, PyObject *running, PyObject *const *enabled, Py_ssize_t count,
               Py_ssize_t step)
{
    Tasks tasks = {enabled, NULL, count, 0};
    return answered((Decider *)decider, CHOICE, &tasks, running, false, step);
}

/* -- methods ---------------------------------------------------------------------------------------- */

/* Ask about sequences of tasks, which are of any kind; a new reference. */
static PyObject *
ask_about(PyObject *self, Question question, PyObject *running, PyObject *enabled, PyObject *timed,
          bool yielded, Py_ssize_t step)
{
    PyObject *able = PySequence_Tuple(enabled);
    PyObject *waiting = able == NULL ? NULL : PySequence_Tuple(timed);
    PyObject *task = NULL;
    if (waiting != NULL) {
        Tasks tasks = {PySequence_Fast_ITEMS(able), PySequence_Fast_ITEMS(waiting),
                       PyTuple_GET_SIZE(able), PyTuple_GET_SIZE(waiting)};
        if (tasks.enabled_count + tasks.timed_count == 0)
            PyErr_SetString(PyExc_ValueError, "nobody can run");
        else
            task = Py_XNewRef(answered((Decider *)self, question, &tasks, running, yielded, step));
    }
    Py_XDECREF(able);
    Py_XDECREF(waiting);
    return task;
}

/* choose(running, enabled, timed, yielded, step) */
static PyObject *
choose_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    Py_ssize_t step = count == 5 ? PyLong_AsSsize_t(arguments[4]) : -1;
    int yielded = count == 5 ? PyObject_IsTrue(arguments[3]) : -1;
    if (step < 0 || step > (Py_ssize_t)UINT32_MAX || yielded < 0)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "choose() takes a step");
    return ask_about(self, CHOICE, arguments[0], arguments[1], arguments[2], yielded, step);
}

static PyObject *
value_method(PyObject *self, PyObject *arity)
{
    Py_ssize_t number = PyLong_AsSsize_t(arity);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    if (number < 0 || number > INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "a choice among %zd values", number);
    return PyLong_FromUnsignedLong(draw_below(&((Decider *)self)->state.random, (uint32_t)number));
}

static bool
is_partial_order(PyObject *self)
{
    bool is_so = ((Decider *)self)->policy == PARTIAL_ORDER;
    if (!is_so)
        PyErr_SetString(PyExc_TypeError, "only POS can be asked for its parts");
    return is_so;
}

/* runs_at_once(running, enabled, yielded) */
static PyObject *
at_once_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    int yielded = count == 3 ? PyObject_IsTrue(arguments[2]) : -1;
    if (yielded < 0 || !is_partial_order(self))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "three arguments");
    Py_ssize_t length = PySequence_Size(arguments[1]);
    if (length == 0)
        Py_RETURN_NONE;
    return length < 0 ? NULL : ask_about(self, AT_ONCE, arguments[0], arguments[1], nothing, yielded, 0);
}

/* highest(options) */
static PyObject *
highest_method(PyObject *self, PyObject *options)
{
    PyObject *first = is_partial_order(self) ? PySequence_GetItem(options, 0) : NULL;
    PyObject *task = first == NULL ? NULL : ask_about(self, HIGHEST, first, options, nothing, false, 0);
    Py_XDECREF(first);
    return task;
}

/* executed(task) */
static PyObject *
executed_method(PyObject *object, PyObject *task)
{
    Decider *self = (Decider *)object;
    uint32_t number = is_partial_order(object) ? number_of(self, task) : NO_TASK;
    if (number == NO_TASK && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "a task without a number");
    if (number == NO_TASK || note_pending(self, number, task) < 0)
        return NULL;
    struct conflicts conflicts = {conflict_between, self};
    priorities_after(&self->state, self->tasks, number, conflicts);
    Py_RETURN_NONE;
}

static void
deallocate(PyObject *object)
{
    Decider *self = (Decider *)object;
    for (uint32_t i = 0; i < self->room; i++)
        Py_XDECREF(self->pending[i].id), Py_XDECREF(self->pending[i].operation);
    PyMem_Free(self->tasks);
    PyMem_Free(self->pending);
    PyMem_Free(self->names);
    Py_XDECREF(self->points);
    Py_XDECREF(self->selected);
    Py_XDECREF(self->named);
    Py_XDECREF(self->numbers);
    Py_XDECREF(self->name_numbers);
    PyObject_Free(object);
}

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL

static PyMethodDef methods[] = {
    {"choose", FAST(choose_method), "See Decider."},
    {"value", value_method, METH_O, "See Decider."},
    {"runs_at_once", FAST(at_once_method), "See PartialOrderDecider."},
    {"highest", highest_method, METH_O, "See PartialOrderDecider."},
    {"executed", executed_method, METH_O, "See PartialOrderDecider."},
    {0},
};

static PyTypeObject decider_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bohrbug.accelerator._accelerator.Decider",
    .tp_basicsize = sizeof(Decider),
    .tp_dealloc = deallocate,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_methods = methods,
    .tp_doc = "The executor of a policy that draws.",
};

/* -- making them -------------------------------------------------------------------------------------- */

static Decider *
new_decider(enum policy policy, PyObject *seed, PyObject *points)
{
    unsigned long long number = PyLong_AsUnsignedLongLongMask(seed);
    Decider *self = PyErr_Occurred() ? NULL : PyObject_New(Decider, &decider_type);
    if (self == NULL)
        return NULL;
    memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
    self->policy = policy;
    self->points = Py_NewRef(points);
    self->numbers = PyDict_New();
    policy_begins(&self->state, number);
    if (self->numbers == NULL)
        Py_CLEAR(self);
    return self;
}

PyObject *
uniform_random_decider(PyObject *Py_UNUSED(module), PyObject *seed)
{
    return (PyObject *)new_decider(UNIFORM_RANDOM, seed, Py_None);
}

/* priority_decider(seed, depth, length) */
PyObject *
priority_decider(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *seed;
    unsigned depth;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(arguments, "OIn", &seed, &depth, &length))
        return NULL;
    Decider *self = new_decider(PRIORITIES, seed, Py_None);
    if (self != NULL)
        priorities_begin(&self->state, depth, length < 0 ? 0 : (uint64_t)length);
    return (PyObject *)self;
}

/* partial_order_decider(seed, points, named) */
PyObject *
partial_order_decider(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *seed, *points, *named;
    if (!PyArg_ParseTuple(arguments, "OOO", &seed, &points, &named))
        return NULL;
    Decider *self = new_decider(PARTIAL_ORDER, seed, points);
    if (self != NULL && named != nothing)
        self->named = Py_NewRef(named);
    return (PyObject *)self;
}

/* Take in what the plan says of the tasks that it names: the index of the parent, or -1, and the
 * number of events that are expected. */
static int
take_names(Decider *self, PyObject *rows)
{
    Py_ssize_t count = PyTuple_GET_SIZE(rows);
    long long sum = 0;
    self->names = PyMem_Calloc((size_t)count + 1, sizeof *self->names);
    if (self->names == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t parent;
        long long events;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows, i), "nL", &parent, &events))
            return -1;
        if (parent >= i || events < 0 || events > INT32_MAX || (sum += events) > INT32_MAX) {
            PyErr_SetString(PyExc_ValueError, "the weights of SURW are too large, or no tree");
            return -1;
        }
        self->names[i].parent = parent < 0 ? NO_TASK : (uint32_t)parent;
        self->names[i].events = events;
    }
    self->names_count = (uint32_t)count;
    return 0;
}

/* weighted_random_decider(seed, names, rows, selected, points): see take_names
 *
 *     names: where in the rows each task is that the plan names
 */
PyObject *
weighted_random_decider(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *seed, *names, *rows, *selected, *points;
    if (!PyArg_ParseTuple(arguments, "OO!O!OO", &seed, &PyDict_Type, &names, &PyTuple_Type, &rows,
                          &selected, &points))
        return NULL;
    Decider *self = new_decider(WEIGHTED, seed, points);
    if (self == NULL)
        return NULL;
    self->selected = Py_NewRef(selected == Py_None ? points : selected);
    self->name_numbers = Py_NewRef(names);
    if (take_names(self, rows) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* use_policies(Kind, point_of) */
PyObject *
use_policies(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const Name names[] = {{&text_index, "index"}, {&text_pending, "pending"}, {&text_id, "id"}};
    PyObject *kind, *points;
    if (!PyArg_ParseTuple(arguments, "OO", &kind, &points) || find_slots(kind, kind_slots) < 0 ||
        make_names(names, 3) < 0 || PyType_Ready(&decider_type) < 0)
        return NULL;
    Py_XSETREF(point_of, Py_NewRef(points));
    if (nothing == NULL && (nothing = PyTuple_New(0)) == NULL)
        return NULL;
    Py_RETURN_NONE;
}
