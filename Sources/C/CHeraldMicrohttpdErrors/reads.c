#define _GNU_SOURCE
#include "CHeraldMicrohttpdErrors.h"

#include <CHeraldReads.h>
#include <dlfcn.h>
#include <gnutls/gnutls.h>

// As in errors.c. The library parses chunks in place, and does not show the lines between them. So the bytes are shown as
// they are read.
#define FOUND_BY_NAME __attribute__((visibility("default"), used, retain))

static ssize_t (*library_record_recv)(gnutls_session_t, void *, size_t);

// Whether GnuTLS reads from the socket on this thread: records, which are encrypted.
static _Thread_local int reads_records;

static void show(int descriptor, const void *bytes, size_t count) {
    if (!reads_records) herald_mhd_show(descriptor, bytes, count);
}

// Of the readers of sockets in this process only the library and GnuTLS have no flags within `herald_mhd_run`.
__attribute__((constructor)) static void find_functions(void) {
    herald_reads_show(show);
    library_record_recv = (ssize_t (*)(gnutls_session_t, void *, size_t))dlsym(RTLD_NEXT, "gnutls_record_recv");
}

FOUND_BY_NAME
ssize_t gnutls_record_recv(gnutls_session_t session, void *bytes, size_t size) {
    reads_records = 1;
    ssize_t count = library_record_recv(session, bytes, size);
    reads_records = 0;
    if (count > 0) herald_mhd_show(gnutls_transport_get_int(session), bytes, (size_t)count);
    return count;
}
