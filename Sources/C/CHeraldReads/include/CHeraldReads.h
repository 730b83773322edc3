// libcurl reads from a connection as long as there is something to read and the HTTP/2 frames or TLS records in it have
// no response for it. A receiver that sends such frames without end keeps libcurl in one call: other callbacks wait, and
// no timeout expires. There is no setting for that. But libcurl reads with `recv`, which it calls through the dynamic
// linker. So this target defines that function. It bounds the reads of the sockets that are named here, shows the other bytes
// that are read without flags, and forwards all other calls. There can be one such function in a process.
#ifndef HERALD_CREADS_H
#define HERALD_CREADS_H

#include <errno.h>
#include <stddef.h>

// The error of reads beyond the allowance. A socket has no such error of its own.
static const int HERALD_READS_SPENT = EDQUOT;

// All functions are for the thread that reads from the socket. Most take its descriptor.

// Begins to bound the reads of a socket, by number and bytes. Without memory they stay unbounded.
void herald_reads_begin(int descriptor, int reads, long bytes);
// Ends it. Call it before the socket is closed.
void herald_reads_end(int descriptor);
// Ends it for all sockets that this thread reads from. Call it when the thread has closed them: some were closed without
// `herald_reads_end`, and another thread may get the identity of this one.
void herald_reads_end_all(void);
// Allows the socket so much from now on. Has no effect if its allowance is spent.
void herald_reads_allow(int descriptor, int reads, long bytes);
// Begins a turn: reads beyond the share of one turn find nothing until the next one. A socket with many reads has a
// smaller share. `now`: milliseconds of a clock that never goes back.
void herald_reads_turn(int descriptor, long long now);
// Whether more was read since the last allowance than a usual response takes. 0 for a socket that is not bounded.
int herald_reads_are_many(int descriptor);
// The bounded socket that this thread has read from last; -1 for none.
int herald_reads_last(void);

// Sets the function that is shown the bytes of each read without flags of a socket that is not bounded. Call it before
// threads start. It is called by the thread that reads.
void herald_reads_show(void (*observer)(int descriptor, const void *bytes, size_t count));

#endif
