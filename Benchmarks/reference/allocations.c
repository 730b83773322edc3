/* Counts what a program allocates, and forwards it to the allocator that the program is linked with.
 *
 *   LD_PRELOAD=allocations.so ALLOCATIONS=FILE PROGRAM
 *
 * FILE begins with two numbers of 64 bits, kept up to date: allocations so far (malloc, calloc, realloc, posix_memalign,
 * aligned_alloc), and the bytes that were asked for.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t early[2], *counters = early;

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static void (*next_free)(void *);

/* dlsym may allocate before there is anything to forward to. What comes from here is never released. */
static _Alignas(16) char nursery[8192];
static size_t used;

static int is_ours(const void *pointer) {
    return (const char *)pointer >= nursery && (const char *)pointer < nursery + sizeof nursery;
}

static void *from_nursery(size_t size) {
    size = (size + 15) & ~(size_t)15;
    if (size > sizeof nursery - used) return NULL;
    used += size;
    return nursery + used - size;
}

/* The first allocation happens while the program is loaded, by its only thread. */
static int is_ready(void) {
    static int state; /* 0: not asked, 1: asking, 2: ready */
    if (state == 2) return 1;
    if (state == 1) return 0;
    state = 1;
    *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    *(void **)&next_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
    *(void **)&next_free = dlsym(RTLD_NEXT, "free");
    state = 2;
    return 1;
}

__attribute__((constructor)) static void open_counters(void) {
    const char *path = getenv("ALLOCATIONS");
    int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file < 0) return;
    if (!ftruncate(file, sizeof early)) {
        void *shared = mmap(NULL, sizeof early, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (shared != MAP_FAILED) counters = shared;
    }
    close(file);
}

static void count(size_t size) {
    __atomic_fetch_add(&counters[0], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counters[1], size, __ATOMIC_RELAXED);
}

void *malloc(size_t size) {
    if (!is_ready()) return from_nursery(size);
    count(size);
    return next_malloc(size);
}

void *calloc(size_t number, size_t size) {
    if (!is_ready()) return from_nursery(number * size); /* The nursery is zero, and used once. */
    count(number * size);
    return next_calloc(number, size);
}

void *realloc(void *pointer, size_t size) {
    if (is_ours(pointer)) {
        void *copy = malloc(size);
        size_t most = (size_t)(nursery + sizeof nursery - (char *)pointer);
        return copy ? memcpy(copy, pointer, size < most ? size : most) : NULL;
    }
    if (!is_ready()) return pointer ? NULL : from_nursery(size);
    count(size);
    return next_realloc(pointer, size);
}

int posix_memalign(void **pointer, size_t alignment, size_t size) {
    if (!is_ready()) return ENOMEM;
    count(size);
    return next_posix_memalign(pointer, alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    if (!is_ready()) return NULL;
    count(size);
    return next_aligned_alloc(alignment, size);
}

void free(void *pointer) {
    if (!is_ours(pointer) && is_ready()) next_free(pointer);
}
