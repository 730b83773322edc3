// The part of GnuTLS that HeraldHTTP uses for TLS: certificates that can be replaced at run time, and handshakes.
#ifndef HERALD_CGNUTLS_H
#define HERALD_CGNUTLS_H

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

// TLS 1.3; and of 1.2 only suites with forward secrecy (ECDHE) and authenticated encryption (AEAD): no RSA key exchange,
// no CBC. No finite-field groups: one handshake with ffdhe8192 takes 300 ms of the server's processor time, and none of
// the client's.
#define HERALD_TLS_PRIORITIES \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:" \
    "-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:-MAC-ALL:+AEAD:" \
    "-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1"
static const char *const herald_tls_priorities = HERALD_TLS_PRIORITIES;

static const int HERALD_TLS_OK = GNUTLS_E_SUCCESS;
static const int HERALD_TLS_MISMATCH = GNUTLS_E_CERTIFICATE_KEY_MISMATCH;
static const int HERALD_TLS_ENCRYPTED = GNUTLS_E_DECRYPTION_FAILED;

// Loads a chain of certificates with its key, both PEM, of these lengths. Returns 0 and `*credentials`, to be freed
// with gnutls_certificate_free_credentials, or an error.
static inline int herald_tls_load(const unsigned char *chain, unsigned chain_length, const unsigned char *key,
                                  unsigned key_length, gnutls_certificate_credentials_t *credentials) {
    gnutls_datum_t chain_datum = {(unsigned char *)chain, chain_length};
    gnutls_datum_t key_datum = {(unsigned char *)key, key_length};
    int result = gnutls_certificate_allocate_credentials(credentials);
    if (result < 0) return result;
    result = gnutls_certificate_set_x509_key_mem2(*credentials, &chain_datum, &key_datum, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (result >= 0) return HERALD_TLS_OK;
    gnutls_certificate_free_credentials(*credentials);
    return result;
}

// Whether the text contains certificates.
static inline int herald_tls_is_chain(const unsigned char *chain, unsigned length) {
    gnutls_datum_t datum = {(unsigned char *)chain, length};
    gnutls_x509_crt_t *list = NULL;
    unsigned count = 0;
    if (gnutls_x509_crt_list_import2(&list, &count, &datum, GNUTLS_X509_FMT_PEM, 0) < 0) return 0;
    for (unsigned index = 0; index < count; index++) gnutls_x509_crt_deinit(list[index]);
    gnutls_free(list);
    return count > 0;
}

// The first certificate, to be freed with gnutls_x509_crt_deinit; NULL if there is none.
static inline gnutls_x509_crt_t herald_tls_first(gnutls_certificate_credentials_t credentials) {
    gnutls_datum_t raw;
    gnutls_x509_crt_t certificate;
    if (gnutls_certificate_get_crt_raw(credentials, 0, 0, &raw) < 0) return NULL;
    if (gnutls_x509_crt_init(&certificate) < 0) return NULL;
    if (gnutls_x509_crt_import(certificate, &raw, GNUTLS_X509_FMT_DER) >= 0) return certificate;
    gnutls_x509_crt_deinit(certificate);
    return NULL;
}

// When the first certificate expires, in seconds since 1970; -1 if it does not say.
static inline long long herald_tls_expiration(gnutls_certificate_credentials_t credentials) {
    gnutls_x509_crt_t certificate = herald_tls_first(credentials);
    if (!certificate) return -1;
    long long time = (long long)gnutls_x509_crt_get_expiration_time(certificate);
    gnutls_x509_crt_deinit(certificate);
    return time;
}

// Since when the first certificate is valid, in seconds since 1970; -1 if it does not say.
static inline long long herald_tls_activation(gnutls_certificate_credentials_t credentials) {
    gnutls_x509_crt_t certificate = herald_tls_first(credentials);
    if (!certificate) return -1;
    long long time = (long long)gnutls_x509_crt_get_activation_time(certificate);
    gnutls_x509_crt_deinit(certificate);
    return time;
}

// Whether the first certificate is for a host name or an IP address.
static inline int herald_tls_covers(gnutls_certificate_credentials_t credentials, const char *name) {
    gnutls_x509_crt_t certificate = herald_tls_first(credentials);
    if (!certificate) return 0;
    int covers = gnutls_x509_crt_check_hostname(certificate, name) != 0;
    gnutls_x509_crt_deinit(certificate);
    return covers;
}

// The priorities above, for any number of sessions, to be freed with gnutls_priority_deinit; NULL without memory.
static inline gnutls_priority_t herald_tls_make_priorities(void) {
    gnutls_priority_t priorities = NULL;
    return gnutls_priority_init(&priorities, HERALD_TLS_PRIORITIES, NULL) == GNUTLS_E_SUCCESS ? priorities : NULL;
}

// A server's session on a non-blocking socket, to be freed with gnutls_deinit; NULL without memory. The credentials must
// outlive it.
static inline gnutls_session_t herald_tls_begin(int descriptor, gnutls_priority_t priorities,
                                                gnutls_certificate_credentials_t credentials) {
    gnutls_datum_t protocols[] = {{(unsigned char *)"http/1.1", 8}, {(unsigned char *)"http/1.0", 8}};
    gnutls_session_t session = NULL;
    if (gnutls_init(&session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0) return NULL;
    if (gnutls_priority_set(session, priorities) < 0 || gnutls_alpn_set_protocols(session, protocols, 2, 0) < 0 ||
        gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials) < 0) {
        gnutls_deinit(session);
        return NULL;
    }
    gnutls_transport_set_int(session, descriptor);
    return session;
}

enum { HERALD_TLS_DONE, HERALD_TLS_READS, HERALD_TLS_WRITES, HERALD_TLS_FAILED };

// Continues the handshake as far as the socket allows. When it fails, the client gets an alert if the socket takes it.
static inline int herald_tls_handshake(gnutls_session_t session) {
    int result = gnutls_handshake(session);
    if (result == GNUTLS_E_SUCCESS) return HERALD_TLS_DONE;
    if (gnutls_error_is_fatal(result)) {
        (void)gnutls_alert_send_appropriate(session, result);
        return HERALD_TLS_FAILED;
    }
    return gnutls_record_get_direction(session) ? HERALD_TLS_WRITES : HERALD_TLS_READS;
}

// Sends these bytes, as far as the socket accepts them at once, and ends the session.
static inline void herald_tls_send_last(void *session, const void *bytes, size_t size) {
    const char *rest = bytes;
    while (size > 0) {
        ssize_t sent = gnutls_record_send((gnutls_session_t)session, rest, size);
        if (sent == GNUTLS_E_INTERRUPTED) continue;
        if (sent <= 0) break;
        rest += sent;
        size -= (size_t)sent;
    }
    (void)gnutls_bye((gnutls_session_t)session, GNUTLS_SHUT_WR);
}

#endif
