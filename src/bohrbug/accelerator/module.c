/* The module ``bohrbug.accelerator._accelerator``. */
#include "accelerator.h"

static PyMethodDef functions[] = {
    {"use_execution", use_execution, METH_VARARGS, "Take over the hot methods of executions."},
    {"use_policies", use_policies, METH_VARARGS, "Know the class of kinds, and point_of."},
    {"uniform_random_decider", uniform_random_decider, METH_O, "An executor of UniformRandom."},
    {"priority_decider", priority_decider, METH_VARARGS, "An executor of Priorities."},
    {"partial_order_decider", partial_order_decider, METH_VARARGS, "An executor of PartialOrder."},
    {"weighted_random_decider", weighted_random_decider, METH_VARARGS, "One of WeightedRandom."},
    {"use_locks", use_locks, METH_VARARGS, "Take over the hot methods of locks."},
    {"use_tasks", use_tasks, METH_VARARGS, "Take over the making and the end of tasks."},
    {"use_threads", use_threads, METH_VARARGS, "What methods of threads do at first."},
    {"use_carriers", use_carriers, METH_VARARGS, "Take over what carriers do."},
    {"use_handle", use_handle, METH_VARARGS, "Know how asyncio makes handles."},
    {"use_loop", use_loop, METH_VARARGS, "Know what call_soon of asyncio's own loops does."},
    {"use_run", use_run, METH_VARARGS, "Know what stands for Handle._run."},
    {"call_soon_in_loop", (PyCFunction)(void (*)(void))call_soon_in_loop, METH_FASTCALL,
     "See loop_calls.c."},
    {"use_handles", use_handles, METH_VARARGS, "Take over what is done as handles are made."},
    {"use_offers", use_offers, METH_VARARGS, "Take over the choice of the next step of a loop."},
    {"use_turns", use_turns, METH_VARARGS, "Take over the hot methods of turns of loops."},
    {"use_swap", use_swap, METH_VARARGS, "Know how to exchange running loops."},
    {"use_parts", use_parts, METH_VARARGS, "What the making of events does at first."},
    {"use_thread_parts", use_thread_parts, METH_VARARGS, "What the making of threads does at first."},
    {"know_births", know_births, METH_VARARGS, "Know objects by their births from now on."},
    {"count_births", count_births, METH_O, "Whether executions count births."},
    {"forget_births", forget_births, METH_NOARGS, "Count births anew, after an execution."},
    {"without_frame", without_frame, METH_NOARGS, "See frameless.c."},
    {"use_points", use_points, METH_VARARGS, "What operations are recognised by, in C."},
    {"use_queues", use_queues, METH_VARARGS, "What methods of queues do at first."},
    {"forget_shared", forget_shared, METH_NOARGS, "Forget what equal objects are shared."},
    {"use_detector", use_detector, METH_VARARGS, "Take over the hot methods of race detectors."},
    {"use_sinks", use_sinks, METH_VARARGS, "Take over the hot methods of sinks of accesses."},
    {"use_sweeping_sink", use_sweeping_sink, METH_VARARGS, "Take over its hot methods."},
    {"known_referents", known_referents, METH_VARARGS,
     "What an object refers to, itself or by its dicts, of objects whose ids are known."},
    {"use_logging_sink", use_logging_sink, METH_VARARGS, "Take over its hot methods."},
    {"use_hooks", use_hooks, METH_VARARGS, "Know what hooks need."},
    {"use_silent_sink", use_silent_sink, METH_O, "Know the sink that is told of no reads."},
    {"use_intervals", use_intervals, METH_VARARGS, "Know the accesses that are halfway."},
    {"use_calls", use_calls, METH_VARARGS, "Know what hooks of calls decide by."},
    {"use_iteration", use_iteration, METH_VARARGS, "Know what hooks of loops decide by."},
    {"set_sink", set_sink, METH_O, "Tell accesses to this sink from now on; None: to nobody."},
    {"use_variables", use_variables, METH_VARARGS, "Know the classes of variables."},
    {"add_shared", add_shared, METH_VARARGS, "See counting.c."},
#ifdef __linux__
    {"add_and_wake", add_and_wake, METH_VARARGS, "See counting.c."},
    {"wait_shared", wait_shared, METH_VARARGS, "See counting.c."},
#endif
    {"generator_state", generator_state, METH_O, "See random_state.c."},
    {"set_generator_state", set_generator_state, METH_VARARGS, "See random_state.c."},
    {"use_plain", use_plain, METH_VARARGS, "Make objects of a class whose __init__ only stores."},
    {"branches", branches, METH_VARARGS, "Where a search branches off an execution."},
    {"classes_of", classes_of, METH_O, "See the function in Python."},
    {"held_only_by_us", held_only_by_us, METH_O, "See the function in Python."},
    {"has_values", has_values, METH_VARARGS, "See the function in Python."},
    {"objects_of_types", objects_of_types, METH_O, "See the function in Python."},
    {"frozen_objects_of_types", frozen_objects_of_types, METH_O, "The same of frozen objects."},
    {"use_frames", use_frames, METH_VARARGS, "Say how frames_of_step tells frames apart."},
    {"frames_of_step", frames_of_step, METH_O, "See bohrbug.runtime.threads.loops.access_log."},
    {"last_frozen", last_frozen, METH_NOARGS, "The address of what was frozen last, or 0."},
    {"thaw_for_programs", thaw_for_programs, METH_VARARGS, "See bohrbug.runtime.threads.heap."},
    {"referrers_of", referrers_of, METH_O, "See bohrbug.runtime.threads.heap."},
    {"survey", survey, METH_VARARGS, "See the function in Python."},
    {"watch_functions", watch_functions, METH_NOARGS, "Know all functions from now on."},
    {"functions_are_watched", functions_are_watched, METH_NOARGS, "Whether all are known."},
    {"functions_running", functions_running, METH_VARARGS, "See the function in Python."},
    {"functions_in", functions_in, METH_VARARGS, "See the function in Python."},
    {"in_tracer", in_tracer, METH_NOARGS, "Whether a trace function of this thread runs."},
    {"controlled", controlled, METH_NOARGS, "See bohrbug.runtime.threads.control."},
    {"is_unseen", is_unseen, METH_NOARGS, "See bohrbug.runtime.threads.control."},
    {"in_another_thread", another_thread, METH_NOARGS, "See bohrbug.runtime.threads.control."},
    {"tell_first_calls", tell_first_calls, METH_O, "Call this with code objects that begin to run."},
    {"evaluator", evaluator, METH_NOARGS, "What evaluates frames now, by its address."},
    {"listen_to_first_calls", listen_to_first_calls, METH_O, "Do so from now on, or no more."},
    {"numbered", numbered, METH_VARARGS, "See the function in Python."},
    {"neighbours", neighbours, METH_VARARGS, "See the function in Python."},
    {"chained_states", chained_states, METH_VARARGS, "The hashes of the steps of a trace."},
    {"checksum_of", (PyCFunction)(void (*)(void))checksum_of, METH_FASTCALL, "See sampling.c."},
    {"use_events", use_events, METH_O, "Know the class of events."},
    {"use_reversals", use_reversals, METH_O, "Know the class of reversals."},
    {"is_weak_initial", is_weak_initial, METH_VARARGS, "See the function in Python."},
    {"first_initial", first_initial, METH_VARARGS, "See the function in Python."},
    {"still_asleep", still_asleep, METH_VARARGS, "See the function in Python."},
    {"independent_events", independent_events, METH_VARARGS, "See the function in Python."},
    {"sleepers_along", sleepers_along, METH_VARARGS, "See the function in Python."},
    {"take_plain_steps", take_plain_steps, METH_VARARGS, "Find the races of plain steps."},
    {0},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_accelerator",
    .m_doc = "The common cases of the hot paths; see accelerator.h.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC
PyInit__accelerator(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && (PyModule_AddFunctions(module, hook_definitions) < 0 ||
                           PyModule_AddFunctions(module, call_hook_definitions) < 0 ||
                           PyModule_AddType(module, &keys_type) < 0))
        Py_CLEAR(module);
    return module;
}
