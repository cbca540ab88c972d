/* The functions behind the interposed ones. */
#ifndef BOHRBUG_REAL_H
#define BOHRBUG_REAL_H

/* assert.h declares what a failed assertion calls only without it. */
#undef NDEBUG
#include <aio.h>
#include <assert.h>
#include <dirent.h>
#include <stdarg.h>
#include <grp.h>
#include <locale.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <pwd.h>
#include <sched.h>
#include <fcntl.h>
#include <mqueue.h>
#include <search.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>
#include <wchar.h>

#include "functions.h"
#include "own.h"

/* Declared by no header, or only for some programs. */
int __uflow(FILE *stream);
sighandler_t __sysv_signal(int number, sighandler_t handler);
int __overflow(FILE *stream, int character);
int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list arguments);
int __printf_chk(int flag, const char *format, ...);
int __fprintf_chk(FILE *stream, int flag, const char *format, ...);
int __underflow(FILE *stream);
int __isoc99_fscanf(FILE *stream, const char *format, ...);
int __isoc99_scanf(const char *format, ...);
int __isoc99_vfscanf(FILE *stream, const char *format, va_list arguments);
int __isoc99_vscanf(const char *format, va_list arguments);
/* Since 2.38. */
int __isoc23_fscanf(FILE *stream, const char *format, ...);
int __isoc23_scanf(const char *format, ...);
int __isoc23_vfscanf(FILE *stream, const char *format, va_list arguments);
int __isoc23_vscanf(const char *format, va_list arguments);
int __vfwprintf_chk(FILE *stream, int flag, const wchar_t *format, va_list arguments);
int __fwprintf_chk(FILE *stream, int flag, const wchar_t *format, ...);
int __wprintf_chk(int flag, const wchar_t *format, ...);
char *__fgets_chk(char *text, size_t room, int size, FILE *stream);
char *__fgets_unlocked_chk(char *text, size_t room, int size, FILE *stream);
size_t __fread_chk(void *buffer, size_t room, size_t size, size_t count, FILE *stream);
size_t __fread_unlocked_chk(void *buffer, size_t room, size_t size, size_t count, FILE *stream);
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __vdprintf_chk(int fd, int flag, const char *format, va_list arguments);
ssize_t __read_chk(int fd, void *buffer, size_t count, size_t size);
ssize_t __pread_chk(int fd, void *buffer, size_t count, off_t at, size_t size);
ssize_t __pread64_chk(int fd, void *buffer, size_t count, off64_t at, size_t size);
ssize_t __recv_chk(int fd, void *buffer, size_t length, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *buffer, size_t length, size_t size, int flags, struct sockaddr *address,
                       socklen_t *address_size);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
mqd_t __mq_open_2(const char *name, int flags);
int __poll_chk(struct pollfd *descriptors, nfds_t count, int timeout, size_t size);
int __ppoll_chk(struct pollfd *descriptors, nfds_t count, const struct timespec *time,
                const sigset_t *mask, size_t size);
/* The C library has it since 2.35. */
int epoll_pwait2(int fd, struct epoll_event *events, int most, const struct timespec *time,
                 const sigset_t *mask);
int __register_atfork(void (*before)(void), void (*after)(void), void (*in_child)(void), void *module);
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void *stack);

#define DECLARE(name) extern __typeof__(name) *real_##name OWN;
INTERPOSED(DECLARE)
#undef DECLARE

#define REAL(name) (real_##name ? real_##name : (load_real_functions(), real_##name))
#define EXPORT __attribute__((visibility("default")))
/* Where the program called: what reports show. */
#define SITE ((uint64_t)(uintptr_t)__builtin_return_address(0))

void load_real_functions(void);

#endif
