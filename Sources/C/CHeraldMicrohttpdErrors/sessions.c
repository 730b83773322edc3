#define _GNU_SOURCE
#include "CHeraldMicrohttpdErrors.h"

#include <dlfcn.h>
#include <gnutls/gnutls.h>
#include <sys/socket.h>

// As in errors.c: the library calls these functions through the dynamic linker.
#define FOUND_BY_NAME __attribute__((visibility("default"), used, retain))

static int (*library_init)(gnutls_session_t *, unsigned);
static int (*library_handshake)(gnutls_session_t);

__attribute__((constructor)) static void find_functions(void) {
    library_init = (int (*)(gnutls_session_t *, unsigned))dlsym(RTLD_NEXT, "gnutls_init");
    library_handshake = (int (*)(gnutls_session_t))dlsym(RTLD_NEXT, "gnutls_handshake");
}

// The session of the connection that this thread adds; NULL once the library has it.
static _Thread_local gnutls_session_t adopted;

int herald_mhd_add(struct MHD_Daemon *daemon, int descriptor, const struct sockaddr *address, socklen_t length,
                   void *session) {
    adopted = session;
    int result = MHD_add_connection(daemon, descriptor, address, length) == MHD_YES;
    if (!adopted) return result;
    gnutls_deinit(adopted);
    adopted = NULL;
    return 0;
}

int herald_mhd_accept(int listener, struct sockaddr *address, socklen_t *length) {
    return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

FOUND_BY_NAME
int gnutls_init(gnutls_session_t *session, unsigned flags) {
    if (!adopted) return library_init(session, flags);
    *session = adopted;
    adopted = NULL;
    return GNUTLS_E_SUCCESS;
}

// Every session that a daemon has was adopted, and an adopted one has completed its handshake.
FOUND_BY_NAME
int gnutls_handshake(gnutls_session_t session) {
    return herald_mhd_runs() ? GNUTLS_E_SUCCESS : library_handshake(session);
}
