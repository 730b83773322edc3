// What Crypto needs of libcrypto. Parameter arrays, flags and macros stop here.
#ifndef HERALD_COPENSSL_H
#define HERALD_COPENSSL_H

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

// Before anything else of OpenSSL, libcurl's initialisation included: whoever comes first decides that no
// configuration file is read, so that OPENSSL_CONF of the environment can load nothing into the process.
static inline int herald_openssl_prepare(void) {
    return OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
}

static inline int herald_sha256(const void *bytes, size_t count, unsigned char *digest) {
    return EVP_Q_digest(NULL, "SHA256", NULL, bytes, count, digest, NULL);
}

// A context with its key, or NULL. The context keeps the fetched algorithm alive.
static inline EVP_MAC_CTX *herald_hmac_new(const unsigned char *key, size_t count) {
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    if (!mac) return NULL;
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_end(),
    };
    if (context && !EVP_MAC_init(context, key, count, parameters)) {
        EVP_MAC_CTX_free(context);
        return NULL;
    }
    return context;
}

// The same key again: half the price of a new context.
static inline int herald_hmac_restart(EVP_MAC_CTX *context) { return EVP_MAC_init(context, NULL, 0, NULL); }

static inline int herald_hmac_finish(EVP_MAC_CTX *context, unsigned char *digest) {
    size_t count = 0;
    return EVP_MAC_final(context, digest, &count, 32) && count == 32;
}

static inline int herald_random(unsigned char *bytes, int count) { return RAND_bytes(bytes, count) == 1; }

#endif
