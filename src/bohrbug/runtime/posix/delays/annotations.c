/* What programs tell the thread sanitizer of their own synchronisation.  A race is caught in the act here, so that
 * nothing need be known of it; only races that are meant to be are not told. */
#include <stddef.h>

#include "cue.h"
#include "traps.h"

EXPORT void AnnotateBenignRaceSized(const char *file, int line, const volatile void *address, size_t size,
                                    const char *why) {
    (void)file, (void)line, (void)why;
    expect_races((uint64_t)(uintptr_t)address, size);
}
EXPORT void AnnotateBenignRace(const char *file, int line, const volatile void *address, const char *why) {
    (void)file, (void)line, (void)why;
    expect_races((uint64_t)(uintptr_t)address, sizeof(long));
}

#define OF_ADDRESS(name) \
    EXPORT void name(void *address) { (void)address; }
OF_ADDRESS(__tsan_acquire)
OF_ADDRESS(__tsan_release)

#define OF_PLACE(name) \
    EXPORT void name(const char *file, int line) { (void)file, (void)line; }
OF_PLACE(AnnotateIgnoreReadsBegin)
OF_PLACE(AnnotateIgnoreReadsEnd)
OF_PLACE(AnnotateIgnoreWritesBegin)
OF_PLACE(AnnotateIgnoreWritesEnd)
OF_PLACE(AnnotateIgnoreSyncBegin)
OF_PLACE(AnnotateIgnoreSyncEnd)
OF_PLACE(AnnotateFlushState)

#define OF_OBJECT(name) \
    EXPORT void name(const char *file, int line, const volatile void *what) { (void)file, (void)line, (void)what; }
OF_OBJECT(AnnotateHappensBefore)
OF_OBJECT(AnnotateHappensAfter)
OF_OBJECT(AnnotateRWLockCreate)
OF_OBJECT(AnnotateRWLockCreateStatic)
OF_OBJECT(AnnotateRWLockDestroy)
OF_OBJECT(AnnotateThreadName)
OF_OBJECT(AnnotateCondVarSignal)
OF_OBJECT(AnnotateCondVarSignalAll)
OF_OBJECT(AnnotateMutexIsNotPHB)
OF_OBJECT(AnnotateMutexIsUsedAsCondVar)
OF_OBJECT(AnnotateNoOp)
OF_OBJECT(AnnotatePCQCreate)
OF_OBJECT(AnnotatePCQDestroy)
OF_OBJECT(AnnotateTraceMemory)

#define OF_LOCK(name) \
    EXPORT void name(const char *file, int line, const volatile void *lock, long writes) { \
        (void)file, (void)line, (void)lock, (void)writes; \
    }
OF_LOCK(AnnotateRWLockAcquired)
OF_LOCK(AnnotateRWLockReleased)

EXPORT void AnnotateNewMemory(const char *file, int line, const volatile void *address, size_t size) {
    (void)file, (void)line, (void)address, (void)size;
}
EXPORT void AnnotateEnableRaceDetection(const char *file, int line, int enable) {
    (void)file, (void)line, (void)enable;
}
EXPORT int RunningOnValgrind(void) { return 0; }

EXPORT void __tsan_ignore_thread_begin(void) {}
EXPORT void __tsan_ignore_thread_end(void) {}
EXPORT void __tsan_flush_memory(void) {}

/* Locks that a program has made itself (sanitizer/tsan_interface.h). */
#define OF_OWN_LOCK(name) \
    EXPORT void name(void *lock, unsigned flags) { (void)lock, (void)flags; }
OF_OWN_LOCK(__tsan_mutex_create)
OF_OWN_LOCK(__tsan_mutex_destroy)
OF_OWN_LOCK(__tsan_mutex_pre_lock)
OF_OWN_LOCK(__tsan_mutex_post_unlock)
OF_OWN_LOCK(__tsan_mutex_pre_signal)
OF_OWN_LOCK(__tsan_mutex_post_signal)
OF_OWN_LOCK(__tsan_mutex_pre_divert)
OF_OWN_LOCK(__tsan_mutex_post_divert)
EXPORT void __tsan_mutex_post_lock(void *lock, unsigned flags, int recursion) {
    (void)lock, (void)flags, (void)recursion;
}
EXPORT int __tsan_mutex_pre_unlock(void *lock, unsigned flags) {
    (void)lock, (void)flags;
    return 0;
}

int __cxa_atexit(void (*function)(void *), void *argument, void *module);

/* The C library has it in each program, but for those that found the sanitizer's when they were linked. */
EXPORT int atexit(void (*function)(void)) {
    return __cxa_atexit((void (*)(void *))(uintptr_t)function, NULL, NULL);
}
