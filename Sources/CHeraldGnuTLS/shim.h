// The part of GnuTLS that HeraldHTTP uses for the TLS of libmicrohttpd: certificates that can be replaced at run time.
#ifndef HERALD_CGNUTLS_H
#define HERALD_CGNUTLS_H

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

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

// When the first certificate expires, in seconds since 1970; -1 if it does not say.
static inline long long herald_tls_expiration(gnutls_certificate_credentials_t credentials) {
    gnutls_datum_t raw;
    gnutls_x509_crt_t certificate;
    long long time = -1;
    if (gnutls_certificate_get_crt_raw(credentials, 0, 0, &raw) < 0) return -1;
    if (gnutls_x509_crt_init(&certificate) < 0) return -1;
    if (gnutls_x509_crt_import(certificate, &raw, GNUTLS_X509_FMT_DER) >= 0)
        time = (long long)gnutls_x509_crt_get_expiration_time(certificate);
    gnutls_x509_crt_deinit(certificate);
    return time;
}

// Makes the session (a gnutls_session_t) use these credentials, which must outlive it. Before its handshake.
static inline int herald_tls_show(void *session, gnutls_certificate_credentials_t credentials) {
    return gnutls_credentials_set((gnutls_session_t)session, GNUTLS_CRD_CERTIFICATE, credentials) == GNUTLS_E_SUCCESS;
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
