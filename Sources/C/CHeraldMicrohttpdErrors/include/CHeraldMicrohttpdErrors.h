// libmicrohttpd responds to some malformed requests by itself, without a callback: with an HTML page, and in 0.9.75
// sometimes with two header sections. There is no setting for that. But it queues such a response with its own public
// function, which it calls through the dynamic linker. So this target defines that function, and forwards all other
// calls of it.
#ifndef HERALD_CMICROHTTPD_ERRORS_H
#define HERALD_CMICROHTTPD_ERRORS_H

#include <microhttpd.h>

// Called with the library's own response to this connection, before it is sent.
typedef void (*herald_mhd_error_handler)(void *owner, struct MHD_Connection *connection, unsigned status);

// Called with what the library has read from a client's socket, before it is parsed; over TLS, with the plain text.
typedef void (*herald_mhd_read_handler)(void *owner, int descriptor, const void *bytes, size_t count);

// MHD_run; the handlers are called from within it, on this thread.
void herald_mhd_run(struct MHD_Daemon *daemon, void *owner, herald_mhd_error_handler handler,
                    herald_mhd_read_handler reader);

// Within `herald_mhd_run`: shows these bytes to the `reader`.
void herald_mhd_show(int descriptor, const void *bytes, size_t count);

// Whether this thread is in `herald_mhd_run`.
int herald_mhd_runs(void);

// The next client of a listening socket, non-blocking, or -1.
int herald_mhd_accept(int listener, struct sockaddr *address, socklen_t *length);

// Gives the daemon a connection whose TLS session (a gnutls_session_t) has completed its handshake. The library has no
// function for that: it makes a session for each connection, with gnutls_init, and begins with gnutls_handshake. So this
// target defines these two as well. The descriptor and the session belong to the library afterwards, and are closed on
// failure (0).
int herald_mhd_add(struct MHD_Daemon *daemon, int descriptor, const struct sockaddr *address, socklen_t length,
                   void *session);

// Queues the response and releases it; 0 on failure.
int herald_mhd_queue(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);

#endif
