// The part of libssl that HeraldWebhooks uses: what a receiver says on a TLS connection that libcurl makes. With TLS 1.3,
// a refusal comes after the handshake, where libcurl reports a broken connection.
#ifndef HERALD_CSSL_WATCH_H
#define HERALD_CSSL_WATCH_H

#include <openssl/ssl.h>

// The events of one connection. Must outlive the connection.
struct herald_tls_events {
    const void *context;       // the SSL_CTX of the connection; NULL to ignore its further events
    int alert;                 // the alert that ended the connection; 0 for none
    int certificate_requested; // the receiver has asked for a client certificate
};

static void herald_tls_note_alert(const SSL *ssl, int where, int code) {
    SSL_CTX *context = SSL_get_SSL_CTX(ssl);
    struct herald_tls_events *events = SSL_CTX_get_app_data(context);
    if (!(where & SSL_CB_ALERT) || !(where & SSL_CB_READ) || !events || events->context != context) return;
    if (code >> 8 == SSL3_AL_FATAL) events->alert = code & 0xff;
}

static int herald_tls_note_request(SSL *ssl, void *owner) {
    struct herald_tls_events *events = owner;
    if (events->context == SSL_get_SSL_CTX(ssl)) events->certificate_requested = 1;
    return 1; // continue with the certificate that the context has
}

static inline void herald_tls_watch(void *context, struct herald_tls_events *events) {
    events->context = context;
    SSL_CTX_set_app_data(context, events);
    SSL_CTX_set_info_callback(context, herald_tls_note_alert);
    SSL_CTX_set_cert_cb(context, herald_tls_note_request, events);
}

static inline const char *herald_tls_alert_text(int alert) {
    switch (alert) {
    // OpenSSL 3.0 has no words for these.
    case TLS13_AD_CERTIFICATE_REQUIRED: return "certificate required";
    case TLS1_AD_NO_APPLICATION_PROTOCOL: return "no application protocol";
    default: return SSL_alert_desc_string_long(alert);
    }
}

#endif
