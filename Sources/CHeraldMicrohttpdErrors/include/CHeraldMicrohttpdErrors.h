// libmicrohttpd responds to some malformed requests by itself, without a callback: with an HTML page, and in 0.9.75
// sometimes with two header sections. There is no setting for that. But it queues such a response with its own public
// function, which it calls through the dynamic linker. So this target defines that function, and forwards all other
// calls of it.
#ifndef HERALD_CMICROHTTPD_ERRORS_H
#define HERALD_CMICROHTTPD_ERRORS_H

#include <microhttpd.h>

// Called with the library's own response to this connection, before it is sent.
typedef void (*herald_mhd_error_handler)(void *owner, struct MHD_Connection *connection, unsigned status);

// MHD_run; `handler` is called from within it, on this thread.
void herald_mhd_run(struct MHD_Daemon *daemon, void *owner, herald_mhd_error_handler handler);

// Queues the response and releases it; 0 on failure.
int herald_mhd_queue(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);

#endif
