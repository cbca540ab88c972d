/* What programs tell the thread sanitizer of their own synchronisation, and that of libstdc++. */
#include <dlfcn.h>

#include "races.h"
#include "shadow.h"

#define EXPORT __attribute__((visibility("default")))
#define PLACE ((uint64_t)(uintptr_t)__builtin_return_address(0))

static void publish(const volatile void *address, uint64_t place) {
    if (control && control->task() != NONE)
        control->publish((const void *)(uintptr_t)address, place);
}
static void learn(const volatile void *address, uint64_t place) {
    if (control && control->task() != NONE) control->learn((const void *)(uintptr_t)address, place);
}

EXPORT void __tsan_acquire(void *address) { learn(address, PLACE); }
EXPORT void __tsan_release(void *address) { publish(address, PLACE); }
EXPORT void AnnotateHappensBefore(const char *file, int line, const volatile void *address) {
    (void)file, (void)line;
    publish(address, PLACE);
}
EXPORT void AnnotateHappensAfter(const char *file, int line, const volatile void *address) {
    (void)file, (void)line;
    learn(address, PLACE);
}
EXPORT void AnnotateRWLockAcquired(const char *file, int line, const volatile void *lock,
                                   long writes) {
    (void)file, (void)line, (void)writes;
    learn(lock, PLACE);
}
EXPORT void AnnotateRWLockReleased(const char *file, int line, const volatile void *lock,
                                   long writes) {
    (void)file, (void)line, (void)writes;
    publish(lock, PLACE);
}
EXPORT void AnnotateRWLockCreate(const char *file, int line, const volatile void *lock) {
    (void)file, (void)line, (void)lock;
}
EXPORT void AnnotateRWLockDestroy(const char *file, int line, const volatile void *lock) {
    (void)file, (void)line, (void)lock;
}
EXPORT void AnnotateNewMemory(const char *file, int line, const volatile void *address,
                              size_t size) {
    (void)file, (void)line;
    if (now.epoch) shadow_clear((uint64_t)(uintptr_t)address, size);
}

/* Races there are meant to be, and are not told. */
EXPORT void AnnotateBenignRaceSized(const char *file, int line, const volatile void *address,
                                    size_t size, const char *why) {
    (void)file, (void)line, (void)why;
    expect_races((uint64_t)(uintptr_t)address, size);
}
EXPORT void AnnotateBenignRace(const char *file, int line, const volatile void *address,
                               const char *why) {
    (void)file, (void)line, (void)why;
    expect_races((uint64_t)(uintptr_t)address, sizeof(long));
}

/* Without effect: what they say is known anyway, or does not concern what is told here. */
#define WITHOUT_EFFECT(name) \
    EXPORT void name(const char *file, int line) { (void)file, (void)line; }
WITHOUT_EFFECT(AnnotateIgnoreReadsBegin)
WITHOUT_EFFECT(AnnotateIgnoreReadsEnd)
WITHOUT_EFFECT(AnnotateIgnoreWritesBegin)
WITHOUT_EFFECT(AnnotateIgnoreWritesEnd)
WITHOUT_EFFECT(AnnotateIgnoreSyncBegin)
WITHOUT_EFFECT(AnnotateIgnoreSyncEnd)
WITHOUT_EFFECT(AnnotateFlushState)
EXPORT void AnnotateThreadName(const char *file, int line, const char *name) {
    (void)file, (void)line, (void)name;
}
EXPORT void AnnotateEnableRaceDetection(const char *file, int line, int enable) {
    (void)file, (void)line, (void)enable;
}
/* Declared by headers of dynamic annotations, and called unless they are told not to. */
#define WITHOUT_EFFECT_ON(name) \
    EXPORT void name(const char *file, int line, const volatile void *what) { \
        (void)file, (void)line, (void)what; \
    }
WITHOUT_EFFECT_ON(AnnotateCondVarSignal)
WITHOUT_EFFECT_ON(AnnotateCondVarSignalAll)
WITHOUT_EFFECT_ON(AnnotateMutexIsNotPHB)
WITHOUT_EFFECT_ON(AnnotateMutexIsUsedAsCondVar)
WITHOUT_EFFECT_ON(AnnotateNoOp)
WITHOUT_EFFECT_ON(AnnotatePCQCreate)
WITHOUT_EFFECT_ON(AnnotatePCQDestroy)
WITHOUT_EFFECT_ON(AnnotateRWLockCreateStatic)
WITHOUT_EFFECT_ON(AnnotateTraceMemory)
EXPORT int RunningOnValgrind(void) { return 0; }
EXPORT void __tsan_ignore_thread_begin(void) {}
EXPORT void __tsan_ignore_thread_end(void) {}
EXPORT void __tsan_flush_memory(void) {}

/* Locks that a program has made itself (sanitizer/tsan_interface.h). */
EXPORT void __tsan_mutex_create(void *lock, unsigned flags) { (void)lock, (void)flags; }
EXPORT void __tsan_mutex_destroy(void *lock, unsigned flags) { (void)lock, (void)flags; }
EXPORT void __tsan_mutex_pre_lock(void *lock, unsigned flags) { (void)lock, (void)flags; }
EXPORT void __tsan_mutex_post_lock(void *lock, unsigned flags, int recursion) {
    (void)flags, (void)recursion;
    learn(lock, PLACE);
}
EXPORT int __tsan_mutex_pre_unlock(void *lock, unsigned flags) {
    (void)flags;
    publish(lock, PLACE);
    return 0;
}
EXPORT void __tsan_mutex_post_unlock(void *lock, unsigned flags) { (void)lock, (void)flags; }
EXPORT void __tsan_mutex_pre_signal(void *lock, unsigned flags) { (void)lock, (void)flags; }
EXPORT void __tsan_mutex_post_signal(void *lock, unsigned flags) { (void)lock, (void)flags; }
EXPORT void __tsan_mutex_pre_divert(void *lock, unsigned flags) { (void)lock, (void)flags; }
EXPORT void __tsan_mutex_post_divert(void *lock, unsigned flags) { (void)lock, (void)flags; }

/* -- static variables of functions in C++ ------------------------------------------------------ */

EXPORT int __cxa_guard_acquire(uint64_t *guard) {
    static int (*real)(uint64_t *);
    if (!real) real = (int (*)(uint64_t *))dlsym(RTLD_NEXT, "__cxa_guard_acquire");
    int mine = real(guard);
    learn(guard, PLACE);
    return mine;
}
EXPORT void __cxa_guard_release(uint64_t *guard) {
    static void (*real)(uint64_t *);
    if (!real) real = (void (*)(uint64_t *))dlsym(RTLD_NEXT, "__cxa_guard_release");
    publish(guard, PLACE);
    real(guard);
}

/* -- the end of a process --------------------------------------------------------------------- */

int __cxa_atexit(void (*function)(void *), void *argument, void *module);

/* The C library has it in each program, but for those that found the sanitizer's when they were linked. */
EXPORT int atexit(void (*function)(void)) {
    return __cxa_atexit((void (*)(void *))(uintptr_t)function, NULL, NULL);
}
