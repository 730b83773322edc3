#define _GNU_SOURCE
#include "CHeraldMicrohttpdErrors.h"

#include <dlfcn.h>
#include <gnutls/gnutls.h>
#include <sys/socket.h>

// As in errors.c. The library parses chunks in place, and does not show the lines between them. So the bytes are shown as
// they are read.
#define FOUND_BY_NAME __attribute__((visibility("default"), used, retain))

static ssize_t (*library_recv)(int, void *, size_t, int);
static ssize_t (*library_record_recv)(gnutls_session_t, void *, size_t);

__attribute__((constructor)) static void find_functions(void) {
    library_recv = (ssize_t (*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
    library_record_recv = (ssize_t (*)(gnutls_session_t, void *, size_t))dlsym(RTLD_NEXT, "gnutls_record_recv");
}

// Every reader of sockets in this process calls this function; of them, only the library has no flags within
// `herald_mhd_run`.
FOUND_BY_NAME
ssize_t recv(int descriptor, void *bytes, size_t size, int flags) {
    // Before the constructor has run.
    if (!library_recv) return recvfrom(descriptor, bytes, size, flags, NULL, NULL);
    ssize_t count = library_recv(descriptor, bytes, size, flags);
    if (flags == 0 && count > 0) herald_mhd_show(descriptor, bytes, (size_t)count);
    return count;
}

FOUND_BY_NAME
ssize_t gnutls_record_recv(gnutls_session_t session, void *bytes, size_t size) {
    ssize_t count = library_record_recv(session, bytes, size);
    if (count > 0) herald_mhd_show(gnutls_transport_get_int(session), bytes, (size_t)count);
    return count;
}
