// Linux system calls that are missing in Swift's Glibc overlay.
#ifndef HERALD_CLINUX_H
#define HERALD_CLINUX_H

#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Swift imports the enumerators as closed enums; epoll_event.events needs plain integers.
static inline unsigned herald_epollin(void) { return EPOLLIN; }
static inline unsigned herald_epollout(void) { return EPOLLOUT; }
static inline unsigned herald_epollerr(void) { return EPOLLERR | EPOLLHUP; }
static inline unsigned herald_epollrdhup(void) { return EPOLLRDHUP; }
static inline int herald_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
// The C library declares it for GNU programs alone. Unlike sem_timedwait it does not follow changes of the wall clock.
int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *deadline);
static inline int herald_sem_wait(sem_t *semaphore, const struct timespec *deadline) {
    return sem_clockwait(semaphore, CLOCK_MONOTONIC, deadline);
}
static inline int herald_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }
// prctl is variadic. Names the calling thread; the kernel truncates the name to 15 bytes.
static inline void herald_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
// Applies to the calling thread: on Linux each thread has its own priority. It gets a tenth of the processor time of others,
// and does not interrupt them.
static inline void herald_lower_priority(void) {
    struct sched_param parameters = {0};
    setpriority(PRIO_PROCESS, 0, 10);
    pthread_setschedparam(pthread_self(), SCHED_BATCH, &parameters);
}
// With a short time slice (Linux 6.12) it interrupts a thread that has a longer one. The C library has neither the function
// nor the structure: sched_setattr(2), first version.
static inline void herald_take_short_turns(unsigned long long nanoseconds) {
    struct {
        unsigned size, policy;
        unsigned long long flags;
        int nice;
        unsigned priority;
        unsigned long long runtime, deadline, period;
    } attributes = {.size = sizeof attributes, .policy = SCHED_OTHER, .runtime = nanoseconds};
    if (sched_getscheduler(0) != SCHED_OTHER) return;
    attributes.nice = getpriority(PRIO_PROCESS, 0);
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

// Only root can read the process's memory and environment from then on, and there is no core file.
static inline void herald_forbid_dumps(void) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

#endif
