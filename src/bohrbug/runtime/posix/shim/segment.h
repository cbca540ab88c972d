/* The shared segment: everything that the processes of an execution and its starter have in common.
 *
 * The starter writes the plan and the settings, the shim follows them and writes what happened.
 * layout.py and enumerations.py beside this folder describe the same to Python; `layout` guards both.
 */
#ifndef BOHRBUG_SEGMENT_H
#define BOHRBUG_SEGMENT_H

#include <stdint.h>

#include "core/policy.h"
#include "own.h"

#define SEGMENT_MAGIC 0x47554252484f42ULL
#define SEGMENT_VERSION 1u

/* "Nobody" where a task is named, "nothing" where an index is. */
#define NONE NO_TASK
#define UNKNOWN_ADDRESS UINT64_MAX
/* Holds a mutex that was locked where nobody could see it. */
#define OUTSIDE (UINT32_MAX - 1)
#define NO_DEADLINE UINT64_MAX
/* A resource that stands for a task: this bit and the task's index. */
#define TASK_BIT 0x80000000u
/* The value of a data choice, in a prefix. */
#define VALUE_BIT 0x40000000u

#define MOST_TASKS 1024
#define MOST_READERS 8
#define CPU_WORDS 16
#define PORT_WORDS 1024
#define NAME_LENGTH 16
#define MESSAGE_LENGTH 512
/* What an execution may print for the next one to follow at once, each of two streams. */
#define MOST_PRINTED 4096
/* Steps for which every operation gets its stack, and those before the end of the plan. */
#define FIRST_STACKS 2000
#define LAST_STACKS 1000
#define STACK_DEPTH 32

/* Kinds of operations; the order is that of KINDS in enumerations.py. */
enum kind {
    SPAWN, BEGIN, END, JOIN,
    ACQUIRE, TRY_ACQUIRE, RELEASE,
    WAIT, WAKE, NOTIFY,
    SLEEP, YIELD, EXTERNAL,
    INSPECT, SET, CONTINUE,
    PUT, GET,
    READ, WRITE,            /* of memory */
    LOAD, STORE, UPDATE,    /* atomic */
    CALL, CHOOSE,
    EXECUTE, SIGNAL, CANCEL, /* what is done to processes and threads */
    BUFFER, FENCE, FLUSH,   /* of store buffers: a store goes in, a task waits for it, it reaches memory */
};

/* Types of resources; the order is that of TYPES in enumerations.py. */
enum type {
    MUTEX, CONDITION, RWLOCK, SEMAPHORE, BARRIER, SPINLOCK, ONCE, FUTEX, FILE_LOCK, DESCRIPTOR,
    CHILDREN, VARIABLE, ATOMIC, FUNCTION, FAULT, MEMORY, STORE_BUFFER, CONTENT, NAME,
    STREAM, STATE,
};

/* When a waiting task is enabled. */
enum condition {
    ALWAYS,
    NEVER,        /* only its timeout lets it go on */
    UNHELD,       /* nobody holds the resource */
    READABLE,     /* a reader-writer lock lets a reader in */
    WRITABLE,     /* ... a writer */
    POSITIVE,     /* the value of a semaphore */
    SIGNALLED,    /* a signal of a condition variable is left for the task */
    WOKEN,        /* another task has set `woken` */
    ENDED,        /* the task with the index `argument` */
    FD_READY,     /* poll says so of the descriptors that the task waits for */
    CHILD_ENDED,  /* a process that the task may wait for */
    SIGNAL_SENT,  /* one of the signals in `target` is pending for the task */
    TRIED,        /* a call would have blocked, and something has changed since */
    DONE,         /* the operation is done already: nobody else can be chosen before it */
};

enum policy {
    NON_PREEMPTIVE, UNIFORM_RANDOM, PRIORITIES, SEGMENTS, SLEEPING, PARTIAL_ORDER, WEIGHTED, ASK,
    ORDERED, READS_FROM,
};

/* How deep a task sleeps (SLEEPING), in the plan and during an execution. */
enum sleep { AWAKE, ASLEEP, DOZING /* any step wakes it */ };

/* What is noted of a step beside its operation, as bits. */
enum step_flag {
    YIELDED = 1,       /* the task that ran before gave control away */
    GATED = 2,         /* it is known whether acquiring would have blocked just before */
    OPEN = 4,          /* ... and it would not */
    WAITS = 8,         /* the operation is one that waits until it is possible */
    COULD_FIRE = 16,   /* its timeout could have fired at any time before */
    READS_KERNEL = 32, /* it depends on what the kernel keeps: readiness, processes, signals */
    WRITES_KERNEL = 64, /* ... and may change that */
    ON_DESCRIPTOR = 128 /* it is on a descriptor, which a poll elsewhere may wait for */
};

enum ending {
    UNFINISHED,   /* the processes ended by themselves, or were ended from outside */
    DEADLOCK,
    STEP_LIMIT,
    MISUSE,
    ASSERTION,
    CRASH,
    STUCK_OUTSIDE,
    TOO_BIG,
    ASKED,        /* the policy leaves the decision of the last step to somebody else */
    NOT_ON_FIBERS, /* tasks have to be kernel threads: see needs_kernel_threads */
    COMES_FURTHER, /* the step limit is reached, and the execution may be only long */
};

/* How a program can misuse what POSIX gives it; the order is that of MISUSES in enumerations.py. */
enum misuse_kind {
    UNLOCK_UNOWNED,  /* of a mutex that the task has not locked, or a spin lock that nobody has */
    WAIT_UNOWNED,    /* for a condition variable, with a mutex that the task has not locked */
    DESTROY_LOCKED,
    USE_DESTROYED,
    LEFT_LOCKED,     /* by a thread that ends */
    NOT_REENTRANT,   /* two tasks call such a function at the same time */
    USE_AFTER_FREE,
    USE_ENDED_THREAD, /* one that was joined, or is detached */
    /* Behind these the lock, or the heap, is not whole any more: they are never let pass. */
    UNLOCK_RWLOCK,   /* that the task has not locked */
    FREE_TWICE,
    MISUSE_KINDS
};

/* What a program has called whose effects are not modelled, as bits; the order is that of NOT_MODELLED in
 * trace_reading.py. */
enum not_modelled {
    ASYNCHRONOUS_IO = 1, ASYNCHRONOUS_NAMES = 2, MESSAGE_NOTIFICATION = 4, OTHER_MEMORY = 8,
    PAGES_OF_PIPES = 16, OWN_THREADS = 32 /* of the C library, which tell of the end of something */
};

/* Whether an execution has ended, and where what it printed is: in the two files, or in `printed`. */
enum over { NOT_OVER, IN_FILES, PRINTED_KEPT };

/* Why a task is held back that may not be waiting for the others. */
enum doubt { REPEATED_YIELD = 1, LONG_RUN = 2 };

/* How stores become visible: at once, by way of a buffer of their task (store_buffer.h), or one by one to each load
 * (past_stores.h). */
enum memory { SEQUENTIAL, STORES_BUFFERED, STORES_REMEMBERED };

/* What a handler of a signal does to a wait. */
enum interruption { NO_HANDLER, ENDS_THE_WAIT, WAITS_ON };

enum task_state { UNUSED, PREPARED, ALIVE, OVER };

/* When a timeout may fire, see timeouts.c; those from ON_TIME on are of timers that the kernel keeps. */
enum firing {
    ANY_TIME,
    LAST_RESORT,     /* only where nobody is enabled, and in the order of time */
    NOT_AT_ALL,
    ON_TIME,         /* nobody sees a moment at which it has not fired yet */
    ON_TIME_AGAIN,   /* the same, for a timer that has fired before */
    WITH_PROCESSOR,  /* only while `computes` could run, or anybody of the process where that is NONE */
};

struct task {
    uint32_t turn;             /* a futex, see `enum turn` */
    uint32_t state;
    uint32_t parent, number;   /* the path in the spawn tree */
    uint32_t name_in_plan;     /* index into the plan's names, or NONE */
    uint32_t children;
    uint32_t process;
    int32_t thread;            /* as the kernel numbers it */
    uint64_t handle;           /* its pthread_t */
    uint64_t routine, argument;
    uint64_t spawned_at;
    uint64_t stack_size;       /* see stack_size_of in spare.h */
    /* What it is about to do. */
    uint32_t kind, resource;
    uint64_t site;
    uint32_t stack;
    uint32_t condition;
    uint64_t target;
    uint64_t deadline;
    uint32_t blocked_since;
    uint32_t timed_out, woken, eligible;
    uint32_t awaits;           /* the resource by which others wake it, plus 1; also while a handler runs in it */
    uint32_t fd_ready, fd_outside, fd_checked;  /* the answer, who could change it, and when it was given */
    uint64_t signals, mask;    /* sent to it by other tasks, and those that it blocks, as bits */
    uint8_t cancellable, cancelled, cancel_disabled;
    uint8_t cancel_anywhere;   /* not just at a cancellation point: PTHREAD_CANCEL_ASYNCHRONOUS */
    uint8_t unwinds;           /* it is ending, and can't be cancelled any more */
    uint8_t interruptible;     /* enum interruption */
    uint8_t detached, joined, main;
    uint8_t restarts;          /* a call that a handler has interrupted is to go on waiting */
    uint8_t held;              /* made while signals were held, and `mask` is what it is to have */
    uint8_t handling;          /* this step is the handler's: what the task waits for comes later */
    uint32_t looks;            /* fruitless ones in a row */
    uint32_t fires;            /* enum firing: when its timeout may fire */
    uint64_t seen_changes;
    uint32_t last_yield, last_run;
    uint32_t begun;
    uint32_t also;             /* a second resource that the operation changes, or NONE */
    uint32_t asleep;           /* enum sleep */
    uint32_t marks, point;     /* see marks_of and point_of in points.c */
    uint32_t choices;          /* data choices that it has made by the plan's values */
    uint64_t stands, stood;    /* see fairness.h: where it yields, and where it did so last */
    uint32_t unheeded;         /* yields in a row that held it back by nothing */
    uint16_t has_looked;       /* in vain, and `stood` is from then */
    uint16_t doubted;          /* enum doubt: it is held back, and may not be waiting for anything */
    uint32_t computes;         /* whose time of the processor its timeout counts, see WITH_PROCESSOR */
    char name[NAME_LENGTH];
};

struct holder {
    uint32_t task, stack;
    uint64_t site;
};

struct resource {
    uint64_t address;
    uint64_t space;            /* the process, or for shared memory what names the file */
    uint32_t type, creator, number, process;
    uint64_t created_at;
    struct holder owner;
    uint32_t count;
    uint32_t readers, flags, clock;
    int32_t value;
    uint32_t tokens, generation, destroyed;
    uint32_t marks, point;     /* see marks_of and point_of in points.c */
    uint32_t bytes;            /* of memory, as many as were accessed at once, at most */
    uint32_t history;          /* of an atomic: the number of its store_history, from 1, or 0 */
    struct holder reader[MOST_READERS];
};

struct process {
    int32_t pid;
    uint32_t parent;           /* index of the process, or NONE */
    uint32_t state;            /* task_state */
    uint32_t collected;        /* somebody has waited for it */
    uint32_t joined;           /* its shim takes part */
    uint32_t main_task;
    uint64_t signals, handled; /* sent to it as a whole by other tasks, and those with a handler */
    uint64_t restarting;       /* ... which has SA_RESTART */
    int32_t locked_out_by;     /* the process that holds the part of a file which this one waits for, or 0 */
    uint32_t locked_out_since; /* the releases when that was found out */
};

struct module {
    uint64_t base, start, end;
    uint32_t process;
    uint32_t is_shim;
    char path[240];
};

/* Offsets from the start of the segment. */
struct tables {
    uint64_t tasks, resources, processes, modules, names, prefix, segments, values, points, events;
    uint64_t pairs, below, policy_tasks;
    uint64_t steps, pool, stacks, printed, accesses;
    uint64_t live;             /* of a run with live rounds, the last one; else 0: see live.h */
};

/* One step: what its task did, and what could have been done instead.  A data choice (CHOOSE) has the
 * number of its values in `enabled`, and the chosen one in `timed`. */
struct step {
    uint64_t site;
    uint32_t resource, stack;
    uint32_t effect;           /* another resource that it changed, or NONE */
    uint32_t options;          /* where the options are in the pool: first the enabled tasks */
    uint16_t enabled, timed;   /* how many they are */
    uint16_t task, process;
    uint8_t kind, flags;       /* enum step_flag */
};

/* Misuse of one kind that was let pass: where and by whom the first time. */
struct let_pass {
    uint64_t site;
    uint32_t task, count;
};

/* Where operations are decisions; sorted by `key`, see key_of in points.c. */
struct point {
    uint64_t key;
    uint32_t decides, selected;
    /* Of resources that events of the plan are on (ORDERED, READS_FROM): */
    uint32_t events, events_end; /* those events */
    uint32_t pairs, pairs_end; /* and the pairs that end there */
    uint32_t last, last_occurrence; /* who has changed it last (READS_FROM), see reads_from.c */
};

/* What a task does of one kind to one resource; those on one resource are sorted by `what`. */
struct event_of_plan {
    uint32_t what;             /* see what_of in plan_events.c */
    uint32_t count;            /* how often it was done */
    uint32_t pairs, pairs_end; /* those that it ends and that are still to come */
};

/* That the first event comes before the second (ORDERED), or is who the second reads from (READS_FROM);
 * sorted by the second and its occurrence. */
struct pair_of_plan {
    uint32_t first, second;    /* indices of events; NONE for a first one that is nobody */
    uint32_t first_occurrence, second_occurrence; /* counted from 1 */
    uint32_t holds;            /* 0: that it is not so (READS_FROM) */
};

struct segment_of_plan {
    uint32_t name, steps;
};

/* What the data choice of a task with a number, counted from 1 behind the prefix, gives; 0 where none is
 * there. */
struct value_of_plan {
    uint32_t name, number, value;
};

struct header {
    uint64_t magic;
    uint32_t version;
    uint32_t task_size, resource_size, process_size, module_size, step_size, header_size;
    struct tables at;
    uint64_t total;
    uint32_t most_resources, most_processes, most_modules, most_steps, most_pool, most_stacks;
    /* The plan. */
    uint32_t policy, depth;
    uint64_t seed, length;
    uint32_t names, prefix_length, segments_length, values_length;
    uint32_t points_length, decides_everywhere, selects_everywhere;
    uint32_t first;            /* name of the task that runs first behind the prefix, or NONE */
    uint32_t events_length, pairs_length;
    /* The settings. */
    uint32_t max_steps, late_timeouts, after_release, with_stacks, one_cpu;
    uint32_t faults;           /* which calls may fail, as bits of `enum fault` */
    uint32_t expected_choices; /* data choices that an execution is expected to have */
    uint32_t faults_left;      /* how many calls may still fail */
    uint32_t allowed_misuses;  /* those that do not end the execution, as bits of `enum misuse_kind` */
    uint32_t nobody_comes;     /* waiting for somebody from outside has been in vain before */
    uint32_t kernel_matters, polls_matter; /* whether any execution has shown steps of that kind */
    uint32_t numbers_matter;   /* ... or uses of descriptors that were closed before */
    uint32_t room_matters;     /* ... or tasks that waited for room in a pipe or a socket */
    uint32_t modes_matter;     /* ... or tasks that set whether calls on a descriptor wait */
    uint32_t fibers;           /* one kernel thread wears all tasks */
    uint32_t memory;           /* enum memory */
    int32_t starter;           /* process id of whoever starts the executions */
    uint64_t cpus[CPU_WORDS];  /* the processors that the program believes to have, as bits */
    uint32_t right_deaths;     /* signals, as bits, that child processes may die of */
    uint64_t epoch;            /* nanoseconds of the real-time clock at the beginning */
    uint64_t made;             /* ... when the segment was made, before any execution, in reality */
    char shim[512];            /* what to preload into new programs, with colons in between */
    char path[128];            /* of the segment itself */
    /* What happened. */
    uint32_t started, finished;
    uint32_t given_up;         /* why this is no execution, see snapshot.h */
    uint32_t reached_main, steps_before_main, resources_before_main;
    uint32_t ending, ending_task;
    uint32_t ending_misuse;    /* enum misuse_kind */
    uint32_t signal;
    uint32_t deaths;           /* signals, as bits, that child processes have died of */
    uint64_t fault_address;    /* UNKNOWN_ADDRESS: of this signal none is known */
    uint32_t ending_resource, ending_stack;
    uint64_t ending_site;
    char message[MESSAGE_LENGTH];
    struct let_pass let_pass[MISUSE_KINDS];
    uint32_t steps, pool_used, stacks_used;
    uint32_t tasks, resources, processes, modules;
    uint32_t alive_count;
    uint16_t alive[MOST_TASKS];
    uint32_t running;          /* index of the task that has the turn */
    uint32_t nudges, nudge_steps;
    uint32_t diverged, diverged_step;
    uint32_t diverged_name;
    uint32_t not_modelled;     /* enum not_modelled */
    uint32_t memory_given_up;  /* there were several processes, and memory was sequentially consistent */
    uint32_t overlaps;         /* memory was accessed under several names: see note_bytes */
    uint64_t now;              /* nanoseconds of virtual time */
    uint64_t slept;            /* ... in which nobody used the processor */
    uint64_t changes;          /* operations that made progress possible */
    struct policy_state policy_state;
    uint32_t slice_began, fairness_active;
    uint32_t segment, segment_left;
    uint32_t behind_prefix;    /* the policy has chosen */
    uint32_t patience;         /* yields until the pairs are given up (READS_FROM) */
    uint32_t fd_changes;       /* operations on descriptors */
    uint32_t probe;            /* a futex: answers to the question whether a task is ready */
    int32_t dying;             /* a process to wait for before going on, or 0 */
    uint32_t taking_over;      /* 1 while a thread acts for a process that died with the turn */
    uint32_t signals_matter;
    uint32_t waited_in_vain;   /* for somebody from outside */
    uint32_t choices;          /* data choices made */
    uint64_t random_values;    /* what they are drawn from */
    uint32_t idle_timeouts;    /* fired in a row with nothing else between them */
    uint32_t idle_looked_at;   /* steps before this one were looked at for that */
    uint64_t idle_since;       /* virtual time of the last step that was more */
    uint64_t idle_changes;     /* `changes` when the yields of `idle_yields` began */
    uint32_t idle_yields;      /* in a row without a change, while a timeout could fire */
    uint32_t timers;           /* tasks that are timers of the kernel, made so far */
    uint32_t looks_closely;    /* nobody is enabled: see look_closely */
    uint32_t releases;         /* what may let a call go on that would have blocked (TRIED) */
    uint32_t timers_run;       /* ... and whether one was set that ends in a signal */
    uint32_t helped_by_timers; /* timers of the kernel in a row with nothing else between them */
    uint32_t stale_numbers;    /* a descriptor was used that was closed before */
    uint32_t lacked_room;      /* somebody waited for room in a pipe or a socket */
    uint32_t set_modes;        /* somebody set whether calls on a descriptor wait */
    uint32_t yields_assumed;   /* enum doubt, as bits: somebody was held back who may be making progress */
    uint32_t ended_beside_others; /* a process did, by exit: what it does then, nobody comes between */
    uint32_t handlers_run;     /* handlers of signals did, each just before an operation of its thread */
    uint32_t cancelled_anywhere; /* a task was, where it is no cancellation point */
    uint64_t ports[PORT_WORDS]; /* those of sockets of the execution, as bits */
    char needs_kernel_threads[32]; /* what the program did first that is not right on fibers */
    /* Of a process that was put back after the execution: */
    uint32_t over;             /* enum over */
    uint32_t status;           /* what it would have exited with */
    uint32_t printed[2];       /* bytes of standard output and standard error (PRINTED_KEPT) */
};

extern struct header *segment OWN;

#define TABLE(type, field) ((type *)((char *)segment + segment->at.field))
#define PROCESSES TABLE(struct process, processes)
#define MODULES TABLE(struct module, modules)
/* What the policies in core/ know of tasks. */
#define POLICY_TASKS TABLE(struct policy_task, policy_tasks)

/* Where the tables are in this process that every scheduling point looks at. */
extern struct places {
    struct task *tasks;
    struct resource *resources;
    struct step *steps;
    uint16_t *pool;
} places OWN;

#define TASKS (places.tasks)
#define RESOURCES (places.resources)
#define STEPS (places.steps)
#define POOL (places.pool)

/* Maps the segment that the environment names; false if there is none. */
int segment_open(void);
/* From now on this one is the segment: the file can hold several, one behind the other. */
void segment_enter(struct header *room);

#endif
