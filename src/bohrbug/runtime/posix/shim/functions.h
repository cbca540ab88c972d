/* The table of interposed functions.  To add one: its name here, and a wrapper that begins with
 *
 *     EXPORT int name(parameters) {
 *         CONTROLLED(name, arguments);
 */
#ifndef BOHRBUG_FUNCTIONS_H
#define BOHRBUG_FUNCTIONS_H

#include <features.h>

/* What is looked up in vain is allocated for, by functions that are looked up. */
#if __GLIBC_PREREQ(2, 38)
#define OF_2_38(F) F(__isoc23_fscanf) F(__isoc23_scanf) F(__isoc23_vfscanf) F(__isoc23_vscanf)
#else
#define OF_2_38(F)
#endif

#define INTERPOSED(F) \
    /* threads */ \
    F(pthread_create) F(pthread_join) F(pthread_tryjoin_np) F(pthread_timedjoin_np) \
    F(pthread_clockjoin_np) F(pthread_detach) F(pthread_cancel) F(pthread_setcancelstate) \
    F(pthread_setcanceltype) F(pthread_testcancel) F(pthread_setname_np) F(pthread_kill) \
    F(pthread_exit) F(thrd_create) F(thrd_join) F(thrd_detach) F(thrd_exit) F(thrd_sleep) F(thrd_yield) \
    /* mutexes */ \
    F(pthread_mutex_init) F(pthread_mutex_destroy) F(pthread_mutex_lock) \
    F(pthread_mutex_trylock) F(pthread_mutex_timedlock) F(pthread_mutex_clocklock) \
    F(pthread_mutex_unlock) F(pthread_mutex_consistent) \
    F(mtx_init) F(mtx_destroy) F(mtx_lock) F(mtx_trylock) F(mtx_timedlock) F(mtx_unlock) \
    F(pthread_spin_init) F(pthread_spin_destroy) F(pthread_spin_lock) \
    F(pthread_spin_trylock) F(pthread_spin_unlock) \
    /* condition variables */ \
    F(pthread_cond_init) F(pthread_cond_destroy) F(pthread_cond_wait) \
    F(pthread_cond_timedwait) F(pthread_cond_clockwait) F(pthread_cond_signal) \
    F(pthread_cond_broadcast) \
    F(cnd_init) F(cnd_destroy) F(cnd_wait) F(cnd_timedwait) F(cnd_signal) F(cnd_broadcast) \
    /* reader-writer locks */ \
    F(pthread_rwlock_init) F(pthread_rwlock_destroy) F(pthread_rwlock_rdlock) \
    F(pthread_rwlock_tryrdlock) F(pthread_rwlock_timedrdlock) F(pthread_rwlock_clockrdlock) \
    F(pthread_rwlock_wrlock) F(pthread_rwlock_trywrlock) F(pthread_rwlock_timedwrlock) \
    F(pthread_rwlock_clockwrlock) F(pthread_rwlock_unlock) \
    /* barriers, once, semaphores */ \
    F(pthread_barrier_init) F(pthread_barrier_destroy) F(pthread_barrier_wait) \
    F(pthread_once) F(call_once) \
    F(sem_init) F(sem_destroy) F(sem_open) F(sem_unlink) F(sem_close) F(sem_wait) F(sem_trywait) \
    F(sem_timedwait) F(sem_clockwait) F(sem_post) F(sem_getvalue) \
    /* time, sleeping, yielding */ \
    F(sched_yield) F(sleep) F(usleep) F(nanosleep) F(clock_nanosleep) \
    F(clock_gettime) F(gettimeofday) F(time) F(timespec_get) F(clock) \
    /* the kernel, by number */ \
    F(syscall) \
    /* randomness */ \
    F(getrandom) F(getentropy) \
    /* the processors that a program believes to have */ \
    F(sched_getaffinity) F(sched_setaffinity) F(pthread_getaffinity_np) \
    F(pthread_setaffinity_np) F(sched_getcpu) \
    /* ends */ \
    F(exit) F(_exit) F(_Exit) F(quick_exit) F(__assert_fail) F(__libc_start_main) \
    /* signals */ \
    F(sigaction) F(signal) F(sigprocmask) F(pthread_sigmask) F(sigwait) F(sigwaitinfo) \
    F(sigtimedwait) F(sigsuspend) F(pause) F(kill) F(killpg) F(raise) F(__sysv_signal) \
    /* what depends on the thread of the kernel that calls */ \
    F(gettid) F(getpid) F(prctl) F(pthread_getname_np) F(sigaltstack) F(tgkill) F(sigqueue) \
    F(pthread_sigqueue) F(timer_create) F(timer_settime) F(timer_gettime) F(timer_getoverrun) F(timer_delete) \
    F(alarm) F(ualarm) F(setitimer) F(getitimer) F(timerfd_create) F(timerfd_settime) F(timerfd_gettime) \
    F(pthread_setschedparam) F(pthread_getschedparam) \
    F(pthread_setschedprio) F(pthread_mutexattr_setprotocol) F(sched_setscheduler) \
    F(sched_setparam) F(setpriority) F(nice) F(getrusage) F(pthread_getcpuclockid) F(setuid) \
    F(setgid) F(seteuid) F(setegid) F(setreuid) F(setregid) F(setresuid) F(setresgid) \
    F(setgroups) F(unshare) F(setns) \
    /* processes */ \
    F(fork) F(_Fork) F(vfork) F(__register_atfork) F(daemon) F(forkpty) F(wait) F(waitpid) F(wait3) F(wait4) F(waitid) F(execve) F(execv) \
    F(execvp) F(execvpe) F(execl) F(execlp) F(execle) F(posix_spawn) F(posix_spawnp) F(system) F(popen) F(pclose) \
    /* descriptors */ \
    F(read) F(write) F(readv) F(writev) F(close) F(dup2) F(dup3) F(poll) F(ppoll) F(__poll_chk) F(__ppoll_chk) \
    F(select) F(pselect) F(epoll_wait) F(epoll_pwait) F(epoll_pwait2) F(accept) F(accept4) F(connect) F(recv) \
    F(recvfrom) F(recvmsg) F(send) F(sendto) F(sendmsg) F(shutdown) \
    F(epoll_ctl) F(inotify_add_watch) F(inotify_rm_watch) F(bind) F(listen) F(getsockname) F(getpeername) \
    F(setsockopt) F(getsockopt) F(ioctl) F(mq_setattr) \
    F(socket) F(socketpair) F(pipe) F(pipe2) F(dup) F(eventfd) F(epoll_create) F(epoll_create1) F(signalfd) \
    F(memfd_create) F(inotify_init) F(inotify_init1) F(mkstemp) F(opendir) \
    /* FIFOs, locks of files, System V */ \
    F(open) F(open64) F(openat) F(openat64) F(__open_2) F(__open64_2) F(fopen) F(fopen64) \
    F(freopen) F(freopen64) \
    F(flock) F(fcntl) F(fcntl64) F(lockf) F(msgsnd) F(msgrcv) F(semop) F(semtimedop) F(lockf64) \
    F(mq_open) F(__mq_open_2) F(mq_send) F(mq_timedsend) F(mq_receive) F(mq_timedreceive) \
    F(mq_getattr) F(mq_unlink) \
    F(shm_open) F(shm_unlink) F(msgget) F(semget) F(shmget) F(msgctl) F(semctl) F(shmctl) F(shmat) F(shmdt) \
    F(__uflow) F(__underflow) F(fgetc) F(getc) F(fgetc_unlocked) F(fgets) F(fgets_unlocked) \
    F(fread) F(fread_unlocked) F(getdelim) F(__getdelim) F(getline) \
    F(fwrite) F(fwrite_unlocked) F(fputs) F(fputs_unlocked) F(puts) F(fputc) F(putc) \
    F(fputc_unlocked) F(putc_unlocked) F(__overflow) F(putchar) F(vfprintf) F(__vfprintf_chk) \
    F(printf) F(fprintf) F(vprintf) F(__printf_chk) F(__fprintf_chk) \
    F(fflush) F(fflush_unlocked) F(fclose) F(flockfile) F(ftrylockfile) F(funlockfile) \
    F(__isoc99_fscanf) F(__isoc99_scanf) F(__isoc99_vfscanf) F(__isoc99_vscanf) OF_2_38(F) \
    F(fgetwc) F(getwc) F(fgetwc_unlocked) F(getwchar) F(fgetws) F(fputwc) F(putwc) F(fputwc_unlocked) F(putwchar) \
    F(fputws) F(vfwprintf) F(__vfwprintf_chk) F(fwprintf) F(__fwprintf_chk) F(wprintf) F(__wprintf_chk) \
    F(__fgets_chk) F(__fgets_unlocked_chk) F(__fread_chk) F(__fread_unlocked_chk) \
    F(dprintf) F(vdprintf) F(__dprintf_chk) F(__vdprintf_chk) F(eventfd_read) F(eventfd_write) \
    F(__read_chk) F(__pread_chk) F(__pread64_chk) F(__recv_chk) F(__recvfrom_chk) F(recvmmsg) F(sendmmsg) \
    F(splice) F(tee) \
    F(fseek) F(fseeko) F(fseeko64) F(ftell) F(ftello) F(ftello64) F(rewind) \
    F(fgetpos) F(fgetpos64) F(fsetpos) F(fsetpos64) F(ungetc) F(ungetwc) \
    /* what is in files, and what they are called */ \
    F(pread) F(pread64) F(preadv) F(preadv64) F(pwrite) F(pwrite64) F(pwritev) F(pwritev64) \
    F(lseek) F(lseek64) F(ftruncate) F(ftruncate64) F(posix_fallocate) F(posix_fallocate64) \
    F(fstat) F(fstat64) F(stat) F(stat64) F(lstat) F(lstat64) F(fstatat) F(fstatat64) F(access) F(faccessat) \
    F(truncate) F(truncate64) F(creat) F(creat64) F(unlink) F(unlinkat) F(remove) F(rename) F(renameat) \
    F(link) F(linkat) F(symlink) F(symlinkat) F(readlink) F(readlinkat) F(mkdir) F(mkdirat) F(rmdir) \
    F(readdir) F(readdir64) F(rewinddir) F(closedir) F(scandir) F(scandir64) \
    F(sendfile) F(sendfile64) F(copy_file_range) F(fallocate) F(fallocate64) \
    F(preadv2) F(preadv64v2) F(pwritev2) F(pwritev64v2) F(statx) F(mkfifo) F(mkfifoat) F(renameat2) \
    F(chmod) F(fchmod) F(fchmodat) F(chown) F(lchown) F(fchown) F(fchownat) \
    F(utime) F(utimes) F(futimes) F(futimens) F(utimensat) \
    /* not modelled */ \
    F(aio_read) F(aio_read64) F(aio_write) F(aio_write64) F(aio_fsync) F(aio_fsync64) F(lio_listio) F(lio_listio64) \
    F(getaddrinfo_a) F(mq_notify) F(process_vm_readv) F(process_vm_writev) F(vmsplice) \
    /* what all threads of a process share */ \
    F(chdir) F(fchdir) F(getcwd) F(umask) F(getenv) F(secure_getenv) F(setenv) F(unsetenv) F(putenv) F(clearenv) \
    F(setlocale) F(rand) F(srand) F(random) F(srandom) \
    F(mmap) F(mmap64) F(munmap) F(mprotect) F(mremap) F(madvise) \
    /* not reentrant */ \
    F(asctime) F(ctime) F(gmtime) F(localtime) F(getdate) F(strtok) F(gethostbyname) \
    F(gethostbyname2) F(gethostbyaddr) F(gethostent) F(getnetbyname) F(getnetbyaddr) F(getnetent) \
    F(getprotobyname) F(getprotobynumber) F(getprotoent) F(getservbyname) F(getservbyport) \
    F(getservent) F(getpwnam) F(getpwuid) F(getpwent) F(getgrnam) F(getgrgid) F(getgrent) \
    F(getlogin) F(ttyname) F(ptsname) F(drand48) F(lrand48) F(mrand48) F(l64a) F(ecvt) F(fcvt) \
    F(hcreate) F(hsearch)

#endif
