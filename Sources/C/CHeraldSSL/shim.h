// The part of libssl that HeraldReceiver uses: a private certificate authority, and the server side of TLS, with
// macros, variadic functions and callbacks.
#ifndef HERALD_CSSL_H
#define HERALD_CSSL_H

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

// MARK: certificates

static inline EVP_PKEY *herald_new_key(void) { return EVP_EC_gen("P-256"); }

static inline int herald_add_extension(X509 *certificate, X509 *issuer, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    if (!extension) return 0;
    int done = X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return done;
}

// A certificate for `key`, or NULL. Without an issuer it is a self-signed authority; otherwise one for the names in
// OpenSSL's form ("DNS:localhost,IP:127.0.0.1"). It is valid from `from` to `until`, in seconds from now.
static inline X509 *herald_new_certificate(
    EVP_PKEY *key, const char *common_name, const char *names, X509 *issuer, EVP_PKEY *issuer_key, long from,
    long until) {
    unsigned char serial[16];
    X509 *certificate = X509_new();
    BIGNUM *number = NULL;
    if (!certificate || RAND_bytes(serial, sizeof serial) != 1) goto failed;
    serial[0] &= 0x7f;
    number = BN_bin2bn(serial, sizeof serial, NULL);
    X509 *signer = issuer ? issuer : certificate;
    X509_NAME *subject = X509_get_subject_name(certificate);
    if (!number || !BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate))
        || !X509_set_version(certificate, X509_VERSION_3) || !X509_gmtime_adj(X509_getm_notBefore(certificate), from)
        || !X509_gmtime_adj(X509_getm_notAfter(certificate), until) || !X509_set_pubkey(certificate, key)
        || !X509_NAME_add_entry_by_txt(
            subject, "CN", MBSTRING_UTF8, (const unsigned char *)common_name, -1, -1, 0)
        || !X509_set_issuer_name(certificate, X509_get_subject_name(signer)))
        goto failed;
    if (!herald_add_extension(certificate, signer, NID_subject_key_identifier, "hash")
        || !herald_add_extension(certificate, signer, NID_authority_key_identifier, "keyid"))
        goto failed;
    if (issuer) {
        if (!herald_add_extension(certificate, signer, NID_basic_constraints, "critical,CA:FALSE")
            || !herald_add_extension(certificate, signer, NID_ext_key_usage, "serverAuth,clientAuth")
            || !herald_add_extension(certificate, signer, NID_subject_alt_name, names))
            goto failed;
    } else if (
        !herald_add_extension(certificate, signer, NID_basic_constraints, "critical,CA:TRUE")
        || !herald_add_extension(certificate, signer, NID_key_usage, "critical,keyCertSign,cRLSign")) {
        goto failed;
    }
    if (!X509_sign(certificate, issuer_key ? issuer_key : key, EVP_sha256())) goto failed;
    BN_free(number);
    return certificate;
failed:
    BN_free(number);
    X509_free(certificate);
    return NULL;
}

// Takes what was written to the memory and returns its length, or 0 when nothing was or there is no room.
static inline size_t herald_take_text(BIO *memory, int written, char *text, size_t room) {
    char *bytes = NULL;
    size_t count = written ? (size_t)BIO_get_mem_data(memory, &bytes) : 0;
    if (count > room) count = 0;
    if (count) memcpy(text, bytes, count);
    BIO_free(memory);
    return count;
}

// Writes the certificate as PEM and returns its length, or 0.
static inline size_t herald_certificate_text(X509 *certificate, char *text, size_t room) {
    BIO *memory = BIO_new(BIO_s_mem());
    return herald_take_text(memory, memory && PEM_write_bio_X509(memory, certificate), text, room);
}

// Writes the private key as PEM and returns its length, or 0.
static inline size_t herald_key_text(EVP_PKEY *key, char *text, size_t room) {
    BIO *memory = BIO_new(BIO_s_mem());
    int written = memory && PEM_write_bio_PrivateKey(memory, key, NULL, NULL, 0, NULL, NULL);
    return herald_take_text(memory, written, text, room);
}

// SHA-256 of the public key in DER, 32 bytes.
static inline int herald_key_digest(EVP_PKEY *key, unsigned char *digest) {
    unsigned char *der = NULL;
    int count = i2d_PUBKEY(key, &der);
    int done = count > 0 && EVP_Digest(der, (size_t)count, digest, NULL, EVP_sha256(), NULL);
    OPENSSL_free(der);
    return done;
}

// MARK: TLS, the server's side

// ALPN: the first supported protocol that the client offers. Without a common one the handshake continues without ALPN.
static inline int herald_choose_protocol(
    SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
    unsigned int offered_length, void *http2) {
    static const unsigned char protocols[] = "\x02h2\x08http/1.1";
    const unsigned char *ours = http2 ? protocols : protocols + 3;
    unsigned int count = http2 ? 12 : 9;
    (void)ssl;
    int found = SSL_select_next_proto((unsigned char **)chosen, length, ours, count, offered, offered_length);
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

// TLS 1.2 and later; with `ciphers`, only TLS 1.2 with these. With a `client_authority`, clients must have a
// certificate of it. NULL on failure.
static inline SSL_CTX *herald_tls_context(X509 *certificate, EVP_PKEY *key, X509 *client_authority, int http2,
                                          const char *ciphers) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context) return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    // Unsent bytes may move between two calls.
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_alpn_select_cb(context, herald_choose_protocol, http2 ? (void *)"" : NULL);
    if (client_authority) {
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context), client_authority);
        SSL_CTX_set_session_id_context(context, (const unsigned char *)"herald", 6); // otherwise resumed sessions fail
    }
    if (ciphers && (SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION) != 1
                    || SSL_CTX_set_cipher_list(context, ciphers) != 1)) {
        SSL_CTX_free(context);
        return NULL;
    }
    if (SSL_CTX_use_certificate(context, certificate) != 1 || SSL_CTX_use_PrivateKey(context, key) != 1) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

// A session on a connected socket, which it does not own.
static inline SSL *herald_tls_accept(SSL_CTX *context, int socket) {
    SSL *ssl = SSL_new(context);
    if (ssl && SSL_set_fd(ssl, socket) != 1) {
        SSL_free(ssl);
        return NULL;
    }
    if (ssl) SSL_set_accept_state(ssl);
    return ssl;
}

// Results of reading and writing that are not byte counts.
static const long HERALD_TLS_END = 0;
static const long HERALD_TLS_BLOCKED = -1;
static const long HERALD_TLS_FAILED = -2;

static inline long herald_tls_result(SSL *ssl, int result) {
    if (result > 0) return result;
    switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return HERALD_TLS_BLOCKED;
    case SSL_ERROR_ZERO_RETURN: return HERALD_TLS_END;
    default: return HERALD_TLS_FAILED;
    }
}

static inline long herald_tls_read(SSL *ssl, void *bytes, int room) {
    ERR_clear_error();
    return herald_tls_result(ssl, SSL_read(ssl, bytes, room));
}

static inline long herald_tls_write(SSL *ssl, const void *bytes, int count) {
    ERR_clear_error();
    return herald_tls_result(ssl, SSL_write(ssl, bytes, count));
}

// Sends an update of the keys, once the last one is sent.
static inline long herald_tls_update_keys(SSL *ssl) {
    ERR_clear_error();
    if (SSL_get_key_update_type(ssl) == SSL_KEY_UPDATE_NONE && SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) != 1) {
        return HERALD_TLS_FAILED;
    }
    return herald_tls_result(ssl, SSL_do_handshake(ssl));
}

static inline int herald_tls_wants_write(SSL *ssl) { return SSL_want_write(ssl); }

// Sends the end of the session, if that is possible without waiting.
static inline void herald_tls_close(SSL *ssl) {
    ERR_clear_error();
    SSL_shutdown(ssl);
    ERR_clear_error();
}

#endif
