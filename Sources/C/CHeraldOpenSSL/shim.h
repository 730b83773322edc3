// The part of libcrypto that HeraldCrypto uses: parameter arrays, flags and macros.
#ifndef HERALD_COPENSSL_H
#define HERALD_COPENSSL_H

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

// Must precede all other uses of OpenSSL, including libcurl's initialisation: the first call decides that no
// configuration file is read, so that OPENSSL_CONF in the environment can load nothing into the process.
static inline int herald_openssl_prepare(void) {
    return OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
}

// Looked up once: finding it by name costs more than hashing a short text.
static inline const EVP_MD *herald_sha256_algorithm(void) { return EVP_MD_fetch(NULL, "SHA256", NULL); }

static inline int herald_sha256(const EVP_MD *algorithm, const void *bytes, size_t count, unsigned char *digest) {
    return algorithm && EVP_Digest(bytes, count, digest, NULL, algorithm, NULL);
}

// A context with its key, or NULL. The context keeps the fetched algorithm alive.
static inline EVP_MAC_CTX *herald_hmac_new(const char *hash, const unsigned char *key, size_t count) {
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    if (!mac) return NULL;
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)hash, 0),
        OSSL_PARAM_construct_end(),
    };
    if (context && !EVP_MAC_init(context, key, count, parameters)) {
        EVP_MAC_CTX_free(context);
        return NULL;
    }
    return context;
}

// Resets with the same key: half the cost of a new context.
static inline int herald_hmac_restart(EVP_MAC_CTX *context) { return EVP_MAC_init(context, NULL, 0, NULL); }

static inline int herald_hmac_finish(EVP_MAC_CTX *context, unsigned char *digest, size_t size) {
    size_t count = 0;
    return EVP_MAC_final(context, digest, &count, size) && count == size;
}

static inline int herald_random(unsigned char *bytes, int count) { return RAND_bytes(bytes, count) == 1; }

// MARK: PEM

// Never prompts for a password on the terminal.
static int herald_no_password(char *buffer, int size, int writing, void *owner) {
    (void)buffer, (void)size, (void)writing, (void)owner;
    return -1;
}

// The number of certificates; 0 if one of them can't be read.
static inline int herald_pem_count(const void *text, int count) {
    BIO *source = BIO_new_mem_buf(text, count);
    int found = 0;
    X509 *certificate;
    while (source && (certificate = PEM_read_bio_X509(source, NULL, herald_no_password, NULL))) {
        X509_free(certificate);
        found++;
    }
    // The end of the text is an error too, and the only one that is expected.
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) found = 0;
    ERR_clear_error();
    BIO_free(source);
    return found;
}

// 1: the key belongs to the first certificate; 0: to another; -1: one of them can't be read; -2: the key has more bits, or more
// bytes than an RSA key with as many: a signature takes as long as the exponents are, which have any length.
static inline int herald_pem_key_fits(
    const void *key_text, int key_count, const void *text, int count, int most_bits) {
    BIO *key_source = BIO_new_mem_buf(key_text, key_count), *source = BIO_new_mem_buf(text, count);
    EVP_PKEY *key = key_source ? PEM_read_bio_PrivateKey(key_source, NULL, herald_no_password, NULL) : NULL;
    X509 *certificate = source ? PEM_read_bio_X509(source, NULL, herald_no_password, NULL) : NULL;
    int verdict = key && certificate ? X509_check_private_key(certificate, key) == 1 : -1;
    if (verdict >= 0 && (EVP_PKEY_get_bits(key) > most_bits || i2d_PrivateKey(key, NULL) > most_bits / 8 * 5)) verdict = -2;
    X509_free(certificate);
    EVP_PKEY_free(key);
    BIO_free(key_source);
    BIO_free(source);
    ERR_clear_error();
    return verdict;
}

// MARK: Ed25519. Seed and public key: 32 bytes. Signature: 64.

static inline EVP_PKEY *herald_ed25519_private(const unsigned char *seed) {
    return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, 32);
}

static inline EVP_PKEY *herald_ed25519_public(const unsigned char *bytes) {
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, bytes, 32);
}

static inline int herald_ed25519_public_bytes(EVP_PKEY *key, unsigned char *bytes) {
    size_t count = 32;
    return EVP_PKEY_get_raw_public_key(key, bytes, &count) == 1 && count == 32;
}

// The message must be contiguous: Ed25519 reads it twice.
static inline int herald_ed25519_sign(EVP_PKEY *key, const void *bytes, size_t count, unsigned char *signature) {
    size_t length = 64;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int done = context && EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1
        && EVP_DigestSign(context, signature, &length, (const unsigned char *)bytes, count) == 1 && length == 64;
    EVP_MD_CTX_free(context);
    return done;
}

static inline int herald_ed25519_verify(
    EVP_PKEY *key, const void *bytes, size_t count, const unsigned char *signature
) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int done = context && EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1
        && EVP_DigestVerify(context, signature, 64, (const unsigned char *)bytes, count) == 1;
    EVP_MD_CTX_free(context);
    return done;
}

// MARK: AES-256-GCM. Key: 32 bytes. Nonce: 12. Tag: 16, behind the ciphertext.

static inline int herald_gcm_seal(
    const unsigned char *key, const unsigned char *nonce, const void *context, int context_count, const void *plain,
    int count, unsigned char *sealed
) {
    int written = 0, rest = 0;
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    int done = cipher && EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, nonce) == 1
        && EVP_EncryptUpdate(cipher, NULL, &rest, (const unsigned char *)context, context_count) == 1
        && EVP_EncryptUpdate(cipher, sealed, &written, (const unsigned char *)plain, count) == 1
        && EVP_EncryptFinal_ex(cipher, sealed + written, &rest) == 1 && written + rest == count
        && EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, 16, sealed + count) == 1;
    EVP_CIPHER_CTX_free(cipher);
    return done;
}

// AES-256 encryption of single blocks, without chaining. For one thread at a time; NULL without memory.
static inline EVP_CIPHER_CTX *herald_block_new(const unsigned char *key) {
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    if (cipher && EVP_EncryptInit_ex(cipher, EVP_aes_256_ecb(), NULL, key, NULL) == 1) return cipher;
    EVP_CIPHER_CTX_free(cipher);
    return NULL;
}

static inline int herald_block_encrypt(EVP_CIPHER_CTX *cipher, const void *block, void *encrypted) {
    int written = 0;
    return EVP_EncryptUpdate(cipher, (unsigned char *)encrypted, &written, (const unsigned char *)block, 16) == 1
        && written == 16;
}

// `count`: of the ciphertext, without the tag. `plain` is valid only if the result is 1.
static inline int herald_gcm_open(
    const unsigned char *key, const unsigned char *nonce, const void *context, int context_count,
    const unsigned char *sealed, int count, unsigned char *plain
) {
    int written = 0, rest = 0;
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    int done = cipher && EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, nonce) == 1
        && EVP_DecryptUpdate(cipher, NULL, &rest, (const unsigned char *)context, context_count) == 1
        && EVP_DecryptUpdate(cipher, plain, &written, sealed, count) == 1
        && EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, 16, (void *)(sealed + count)) == 1
        && EVP_DecryptFinal_ex(cipher, plain + written, &rest) == 1 && written + rest == count;
    EVP_CIPHER_CTX_free(cipher);
    return done;
}

// MARK: comparison

static inline int herald_equal(const void *one, const void *other, size_t count) {
    return CRYPTO_memcmp(one, other, count) == 0;
}

#endif
