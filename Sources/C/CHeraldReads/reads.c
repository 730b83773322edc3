#undef _FORTIFY_SOURCE
#include "CHeraldReads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>

// Symbols for the dynamic linker must stay, although nothing here uses them.
#define FOUND_BY_NAME __attribute__((visibility("default"), used, retain))

// A turn costs others a fraction of a millisecond: OpenSSL needs two reads and about 10 µs for each update of keys.
static const int READS_OF_TURN = 32;
static const long BYTES_OF_TURN = 64 * 1024;
static const int READS_OF_SHORT_TURN = 8;
// A response with header section and body comes in fewer reads and bytes, unless its receiver is slow.
static const int MANY_READS = 32;
static const long MANY_BYTES = 32 * 1024;
// Reads return with time, because a receiver that takes an hour may show every second that it is alive.
static const int READS_PER_SECOND = 32;

struct reads {
    // The thread that reads, or 0 if the reads are not bounded. libcurl closes a socket that was never connected without
    // saying so, and another thread may get its number.
    _Atomic(pthread_t) reader;
    // What is left of the turn, and of the allowance.
    int turn_reads, reads;
    // The last allowance.
    int most_reads;
    long turn_bytes, bytes, most_bytes;
    // When reads have returned last; 0 for never.
    long long returned_at;
};

// By descriptor: pages that are made when needed and never freed.
#define DESCRIPTORS_OF_PAGE 1024
#define PAGES 4096
static _Atomic(struct reads *) pages[PAGES];

static struct reads *entry(int descriptor) {
    if (descriptor < 0 || descriptor >= DESCRIPTORS_OF_PAGE * PAGES) return NULL;
    struct reads *page = atomic_load_explicit(&pages[descriptor / DESCRIPTORS_OF_PAGE], memory_order_acquire);
    return page ? &page[descriptor % DESCRIPTORS_OF_PAGE] : NULL;
}

static _Thread_local int last_read = -1;

int herald_reads_last(void) { return last_read; }

// NULL if the reads of the socket are not bounded.
static struct reads *bounded(int descriptor) {
    struct reads *reads = entry(descriptor);
    return reads && atomic_load_explicit(&reads->reader, memory_order_relaxed) == pthread_self() ? reads : NULL;
}

static void make_page(int descriptor) {
    if (descriptor < 0 || descriptor >= DESCRIPTORS_OF_PAGE * PAGES) return;
    struct reads *made = calloc(DESCRIPTORS_OF_PAGE, sizeof *made), *none = NULL;
    // Another thread may have been faster.
    if (made && !atomic_compare_exchange_strong(&pages[descriptor / DESCRIPTORS_OF_PAGE], &none, made)) free(made);
}

static int is_spent(const struct reads *reads) { return reads->reads <= 0 || reads->bytes <= 0; }

static int are_many(const struct reads *reads) {
    return reads->most_reads - reads->reads > MANY_READS || reads->most_bytes - reads->bytes > MANY_BYTES;
}

int herald_reads_are_many(int descriptor) {
    const struct reads *reads = bounded(descriptor);
    return reads && are_many(reads);
}

void herald_reads_begin(int descriptor, int count, long bytes) {
    if (!entry(descriptor)) make_page(descriptor);
    struct reads *reads = entry(descriptor);
    if (!reads) return;
    reads->turn_reads = READS_OF_TURN;
    reads->turn_bytes = BYTES_OF_TURN;
    reads->reads = reads->most_reads = count;
    reads->bytes = reads->most_bytes = bytes;
    reads->returned_at = 0;
    atomic_store_explicit(&reads->reader, pthread_self(), memory_order_relaxed);
}

void herald_reads_end(int descriptor) {
    struct reads *reads = entry(descriptor);
    if (reads) atomic_store_explicit(&reads->reader, 0, memory_order_relaxed);
}

void herald_reads_end_all(void) {
    for (int number = 0; number < PAGES; number++) {
        struct reads *page = atomic_load_explicit(&pages[number], memory_order_acquire);
        for (int index = 0; page && index < DESCRIPTORS_OF_PAGE; index++) {
            pthread_t own = pthread_self();
            // Another thread may begin with this descriptor at the same time.
            atomic_compare_exchange_strong(&page[index].reader, &own, 0);
        }
    }
}

void herald_reads_allow(int descriptor, int count, long bytes) {
    struct reads *reads = bounded(descriptor);
    if (!reads || is_spent(reads)) return;
    reads->reads = reads->most_reads = count;
    reads->bytes = reads->most_bytes = bytes;
}

void herald_reads_turn(int descriptor, long long now) {
    struct reads *reads = bounded(descriptor);
    if (!reads) return;
    reads->turn_reads = are_many(reads) ? READS_OF_SHORT_TURN : READS_OF_TURN;
    reads->turn_bytes = BYTES_OF_TURN;
    if (reads->returned_at == 0) reads->returned_at = now;
    long long seconds = (now - reads->returned_at) / 1000;
    if (seconds <= 0) return;
    reads->returned_at += seconds * 1000;
    if (is_spent(reads)) return;
    long long sum = reads->reads + seconds * READS_PER_SECOND;
    reads->reads = sum < reads->most_reads ? (int)sum : reads->most_reads;
}

static _Atomic(void (*)(int, const void *, size_t)) observer;

void herald_reads_show(void (*function)(int, const void *, size_t)) {
    atomic_store_explicit(&observer, function, memory_order_release);
}

FOUND_BY_NAME ssize_t recv(int descriptor, void *buffer, size_t count, int flags) {
    struct reads *reads = bounded(descriptor);
    if (!reads) {
        ssize_t received = recvfrom(descriptor, buffer, count, flags, NULL, NULL);
        void (*show)(int, const void *, size_t) = atomic_load_explicit(&observer, memory_order_acquire);
        if (show && flags == 0 && received > 0) show(descriptor, buffer, (size_t)received);
        return received;
    }
    if (!(flags & MSG_PEEK)) last_read = descriptor;
    if (is_spent(reads)) {
        // libcurl looks whether an idle connection has ended. This one is not to be used again.
        if (flags & MSG_PEEK) return 0;
        errno = HERALD_READS_SPENT;
        return -1;
    }
    if (!(flags & MSG_PEEK) && (reads->turn_reads <= 0 || reads->turn_bytes <= 0)) {
        errno = EAGAIN;
        return -1;
    }
    ssize_t received = recvfrom(descriptor, buffer, count, flags, NULL, NULL);
    if (received > 0 && !(flags & MSG_PEEK)) {
        reads->turn_reads -= 1;
        reads->turn_bytes -= received;
        reads->reads -= 1;
        reads->bytes -= received;
    }
    return received;
}
