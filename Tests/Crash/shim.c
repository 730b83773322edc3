// Stands between a process and its data folder (LD_PRELOAD): records every write, truncation, flush and change of the folder in
// the order in which they happened, makes calls fail, and moves the wall clock.
//
//   SHIM_FOLDER   the data folder, as an absolute path without links
//   SHIM_RECORD   the file to record in; nothing is recorded without it
//   SHIM_CONTROL  a file of 64 bytes that says which calls fail: struct control
//
// What is mapped into memory is not seen. SQLite maps herald.db-shm alone, which it makes anew after a crash.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { CREATED = 1, WRITTEN, CUT, FLUSHED, FOLDER_FLUSHED, RENAMED, UNLINKED };
enum { KIND_WRITE = 1, KIND_FLUSH = 2, KIND_CUT = 4 };
enum { DATABASE = 1, LOG = 2, EXTENT = 4, LOCK = 8, FOLDER = 16, OTHER = 32 };
enum { SHORT = 1000, SLOW, KILL };

struct control {
    uint32_t armed, kinds, files;
    uint32_t seen;  // calls that matched since it was armed
    uint32_t skip, count;  // the calls that fail: after so many, so many
    uint32_t action;  // an errno, or SHORT, SLOW, KILL
    uint32_t milliseconds, hits;
    int32_t clock_seconds;
};

struct entry {
    uint32_t operation, length;
    uint64_t file, begin, end, offset;
};

static struct { uint64_t file; uint32_t class; } known[65536];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static size_t folder_length;
static int record = -1;
static volatile struct control *control;

__attribute__((constructor)) static void start(void) {
    folder = getenv("SHIM_FOLDER");
    folder_length = folder ? strlen(folder) : 0;
    const char *path = getenv("SHIM_RECORD");
    if (path) record = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    path = getenv("SHIM_CONTROL");
    int file = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0) : -1;
    if (file < 0) return;
    void *page = mmap(0, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) control = page;
    syscall(SYS_close, file);
}

static uint64_t now(void) {
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static uint32_t class_of(const char *path) {
    if (!folder_length || strncmp(path, folder, folder_length)) return 0;
    path += folder_length;
    if (!*path) return FOLDER;
    if (*path != '/') return 0;
    path++;
    if (!strcmp(path, "herald.db")) return DATABASE;
    if (!strcmp(path, "herald.db-wal")) return LOG;
    if (!strcmp(path, "herald.extent")) return EXTENT;
    if (!strcmp(path, "herald.lock")) return LOCK;
    return OTHER;
}

static uint32_t class_of_descriptor(int descriptor) {
    return descriptor >= 0 && descriptor < 65536 ? known[descriptor].class : 0;
}

// Call it with the lock held.
static void note(uint32_t operation, uint64_t file, uint64_t begin, uint64_t offset, const void *bytes, size_t length) {
    if (record < 0) return;
    struct entry entry = {operation, length, file, begin, now(), offset};
    struct iovec parts[2] = {{&entry, sizeof entry}, {(void *)bytes, length}};
    if (syscall(SYS_writev, record, parts, 2) != (ssize_t)(sizeof entry + length)) abort();
}

// Call it with the lock held. Returns 0, an errno, or SHORT.
static uint32_t fault(uint32_t kind, uint32_t class) {
    if (!control || !control->armed || !(control->kinds & kind) || !(control->files & class)) return 0;
    uint32_t number = control->seen++;
    if (number < control->skip || number - control->skip >= control->count) return 0;
    control->hits++;
    if (control->action == KILL) syscall(SYS_kill, getpid(), SIGKILL);
    if (control->action != SLOW) return control->action;
    usleep(control->milliseconds * 1000);
    return 0;
}

static int opened(const char *path, int flags, mode_t mode) {
    uint32_t class = class_of(path);
    if (!class) return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    pthread_mutex_lock(&lock);
    uint64_t begin = now();
    int is_new = flags & O_CREAT && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0;
    int result = syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    int error = errno;
    struct stat status;
    if (result >= 0 && result < 65536 && fstat(result, &status) == 0) {
        known[result].file = status.st_ino;
        known[result].class = class;
        if (is_new) note(CREATED, status.st_ino, begin, 0, path + folder_length + 1, strlen(path + folder_length + 1));
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

static mode_t mode_of(int flags, va_list more) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; }

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return opened(path, flags, mode);
}

int close(int descriptor) {
    if (descriptor >= 0 && descriptor < 65536) known[descriptor].class = 0;
    return syscall(SYS_close, descriptor);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset) {
    uint32_t class = class_of_descriptor(descriptor);
    if (!class) return syscall(SYS_pwrite64, descriptor, bytes, length, offset);
    pthread_mutex_lock(&lock);
    uint32_t error = fault(KIND_WRITE, class);
    if (error == SHORT) length = length > 1 ? length / 2 : length;
    uint64_t begin = now();
    ssize_t result = error && error != SHORT ? -1 : syscall(SYS_pwrite64, descriptor, bytes, length, offset);
    if (!error || error == SHORT) error = errno;
    if (result > 0) note(WRITTEN, known[descriptor].file, begin, offset, bytes, result);
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off_t offset) {
    return pwrite(descriptor, bytes, length, offset);
}

int ftruncate(int descriptor, off_t length) {
    uint32_t class = class_of_descriptor(descriptor);
    if (!class) return syscall(SYS_ftruncate, descriptor, length);
    pthread_mutex_lock(&lock);
    uint32_t error = fault(KIND_CUT, class);
    uint64_t begin = now();
    int result = error ? -1 : syscall(SYS_ftruncate, descriptor, length);
    if (!error) error = errno;
    if (result == 0) note(CUT, known[descriptor].file, begin, length, 0, 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

int ftruncate64(int descriptor, off_t length) { return ftruncate(descriptor, length); }

static int flushed(int descriptor, long call) {
    uint32_t class = class_of_descriptor(descriptor);
    if (!class) return syscall(call, descriptor);
    pthread_mutex_lock(&lock);
    uint32_t error = fault(KIND_FLUSH, class);
    uint64_t begin = now();
    int result = error ? -1 : syscall(call, descriptor);
    if (!error) error = errno;
    if (result == 0) note(class == FOLDER ? FOLDER_FLUSHED : FLUSHED, known[descriptor].file, begin, 0, 0, 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

int fsync(int descriptor) { return flushed(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return flushed(descriptor, SYS_fdatasync); }

int rename(const char *from, const char *to) {
    uint32_t class = class_of(from);
    if (!class) return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    pthread_mutex_lock(&lock);
    uint64_t begin = now();
    int result = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    char names[2048];
    int length = snprintf(names, sizeof names, "%s/%s", from + folder_length + 1, to + folder_length + 1);
    if (result == 0) note(RENAMED, 0, begin, 0, names, length);
    pthread_mutex_unlock(&lock);
    return result;
}

int unlink(const char *path) {
    uint32_t class = class_of(path);
    if (!class) return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    pthread_mutex_lock(&lock);
    uint64_t begin = now();
    int result = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    int error = errno;
    if (result == 0) note(UNLINKED, 0, begin, 0, path + folder_length + 1, strlen(path + folder_length + 1));
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = dlsym(RTLD_NEXT, "clock_gettime");
    int result = next(clock, time);
    if (result == 0 && control && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        time->tv_sec += control->clock_seconds;
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    time->tv_sec = precise.tv_sec;
    time->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (result) *result = precise.tv_sec;
    return precise.tv_sec;
}
