// libmicrohttpd answers some malformed requests by itself, before it has asked anyone: with a page of HTML, and 0.9.75 at
// times with two heads. It has no setting for that. But it queues such an answer with its own public function, which it
// calls like any other program does, by way of the dynamic linker. So this target defines that function, and passes on
// what others want of it.
#ifndef HERALD_CMICROHTTPD_ERRORS_H
#define HERALD_CMICROHTTPD_ERRORS_H

#include <microhttpd.h>

// Told what the library wants to answer to this connection, before it does.
typedef void (*herald_mhd_error_handler)(void *owner, struct MHD_Connection *connection, unsigned status);

// MHD_run; `handler` is called from within it, on this thread.
void herald_mhd_run(struct MHD_Daemon *daemon, void *owner, herald_mhd_error_handler handler);

// Queues the response and gives it up; 0 if it was not taken.
int herald_mhd_queue(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);

#endif
