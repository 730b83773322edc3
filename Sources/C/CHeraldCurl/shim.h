// The part of libcurl that HeraldWebhooks uses. Wraps libcurl's variadic setters, enums and structs.
#ifndef HERALD_CCURL_H
#define HERALD_CCURL_H

#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// MARK: results that HeraldWebhooks distinguishes (CURLcode)

static const int HERALD_CURL_OK = CURLE_OK;
static const int HERALD_CURL_RESOLVE = CURLE_COULDNT_RESOLVE_HOST;
static const int HERALD_CURL_PROXY = CURLE_PROXY;
static const int HERALD_CURL_PROXY_NAME = CURLE_COULDNT_RESOLVE_PROXY;
static const int HERALD_CURL_CONNECT = CURLE_COULDNT_CONNECT;
static const int HERALD_CURL_TIMEOUT = CURLE_OPERATION_TIMEDOUT;
static const int HERALD_CURL_PARTIAL = CURLE_PARTIAL_FILE;
static const int HERALD_CURL_WRITE = CURLE_WRITE_ERROR;
static const int HERALD_CURL_NO_MEMORY = CURLE_OUT_OF_MEMORY;
static const int HERALD_CURL_TOO_LARGE = 100; // CURLE_TOO_LARGE, since 8.6
static const int HERALD_CURL_ABORTED = CURLE_ABORTED_BY_CALLBACK;
static const int HERALD_CURL_SEND = CURLE_SEND_ERROR;
static const int HERALD_CURL_RECEIVE = CURLE_RECV_ERROR;
static const int HERALD_CURL_NOTHING = CURLE_GOT_NOTHING;
static const int HERALD_CURL_NOT_HTTP = CURLE_UNSUPPORTED_PROTOCOL;
static const int HERALD_CURL_WEIRD = CURLE_WEIRD_SERVER_REPLY;
static const int HERALD_CURL_HTTP2 = CURLE_HTTP2;
static const int HERALD_CURL_HTTP2_STREAM = CURLE_HTTP2_STREAM;
static const int HERALD_CURL_HANDSHAKE = CURLE_SSL_CONNECT_ERROR;
static const int HERALD_CURL_CERTIFICATE = CURLE_PEER_FAILED_VERIFICATION;
static const int HERALD_CURL_CIPHER = CURLE_SSL_CIPHER;
static const int HERALD_CURL_CLIENT_CERTIFICATE = CURLE_SSL_CERTPROBLEM;
static const int HERALD_CURL_CA_FILE = CURLE_SSL_CACERT_BADFILE;
static const int HERALD_CURL_PIN = CURLE_SSL_PINNEDPUBKEYNOTMATCH;

static inline int herald_curl_decodes_deflate(void) {
    return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_LIBZ) != 0;
}
static inline int herald_curl_decodes_brotli(void) {
    return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_BROTLI) != 0;
}
static inline int herald_curl_decodes_zstd(void) {
    return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_ZSTD) != 0;
}
// Each is NULL if libcurl lacks the part.
static inline const char *herald_curl_version(void) { return curl_version_info(CURLVERSION_NOW)->version; }
static inline const char *herald_curl_tls_version(void) { return curl_version_info(CURLVERSION_NOW)->ssl_version; }
static inline const char *herald_curl_http2_version(void) { return curl_version_info(CURLVERSION_NOW)->nghttp2_version; }
static inline const char *herald_curl_ca_file(void) { return curl_version_info(CURLVERSION_NOW)->cainfo; }
static inline int herald_curl_global_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }
static inline const char *herald_curl_message(int code) { return curl_easy_strerror((CURLcode)code); }

// MARK: easy handles

// The compiler represents `curlsocktype` as an unsigned integer, and Swift imports it as one.
typedef curl_socket_t (*herald_open_callback)(void *owner, unsigned purpose, struct curl_sockaddr *address);

struct herald_easy_settings {
    void *transfer;             // returned by herald_easy_transfer, and passed to all callbacks except close_socket
    void *descriptors;          // passed to close_socket
    char *error_text;           // CURL_ERROR_SIZE bytes, cleared, valid for the lifetime of the handle
    struct curl_slist *headers; // likewise
    const char *ca_file;        // NULL for the system's
    curl_write_callback body;
    curl_write_callback header;
    herald_open_callback open_socket;
    curl_closesocket_callback close_socket;
    curl_prereq_callback before_request;
    curl_xferinfo_callback progress;
    curl_ssl_ctx_callback tls;
};

// Sets the options of a handle that are the same for every request, as listed in the safety contract.
static inline int herald_easy_configure(CURL *easy, const struct herald_easy_settings *settings) {
    int failed = easy == NULL;
#define HERALD_SET(option, value) failed |= curl_easy_setopt(easy, option, value) != CURLE_OK
    // Which hosts and protocols a request may reach.
    HERALD_SET(CURLOPT_PROTOCOLS_STR, "http,https");
    HERALD_SET(CURLOPT_REDIR_PROTOCOLS_STR, "https");
    HERALD_SET(CURLOPT_FOLLOWLOCATION, 0L);
    HERALD_SET(CURLOPT_PROXY, "");    // otherwise http_proxy and ALL_PROXY of the environment apply
    HERALD_SET(CURLOPT_NOPROXY, "*");
    HERALD_SET(CURLOPT_OPENSOCKETFUNCTION, (curl_opensocket_callback)settings->open_socket);
    HERALD_SET(CURLOPT_OPENSOCKETDATA, settings->transfer);
    HERALD_SET(CURLOPT_CLOSESOCKETFUNCTION, settings->close_socket);
    HERALD_SET(CURLOPT_CLOSESOCKETDATA, settings->descriptors);
    HERALD_SET(CURLOPT_PREREQFUNCTION, settings->before_request);
    HERALD_SET(CURLOPT_PREREQDATA, settings->transfer);
    HERALD_SET(CURLOPT_SSL_CTX_FUNCTION, settings->tls);
    HERALD_SET(CURLOPT_SSL_CTX_DATA, settings->transfer);
    // How long it may block, and how long connections are kept.
    HERALD_SET(CURLOPT_NOSIGNAL, 1L);
    HERALD_SET(CURLOPT_QUICK_EXIT, 1L); // otherwise the end of a transfer waits for its name lookup
    HERALD_SET(CURLOPT_MAXAGE_CONN, 30L);
    HERALD_SET(CURLOPT_MAXLIFETIME_CONN, 300L);
    // Which receivers it trusts.
    HERALD_SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    // For TLS 1.2, only forward secrecy and AEAD. OpenSSL would also offer RSA key exchange, and CBC.
    HERALD_SET(CURLOPT_SSL_CIPHER_LIST, "ECDHE+AESGCM:ECDHE+CHACHA20");
    // No finite fields: a receiver that chose ffdhe8192 would cost this thread 95 ms for each connection.
    HERALD_SET(CURLOPT_SSL_EC_CURVES, "X25519:P-256:P-384");
    HERALD_SET(CURLOPT_SSL_VERIFYPEER, 1L);
    HERALD_SET(CURLOPT_SSL_VERIFYHOST, 2L);
    if (settings->ca_file) {
        HERALD_SET(CURLOPT_CAINFO, settings->ca_file);
        HERALD_SET(CURLOPT_CAPATH, NULL); // otherwise the system's folder of authorities is trusted as well
        HERALD_SET(CURLOPT_CA_CACHE_TIMEOUT, 60L); // seconds; a day would be too long for a file that is replaced
    }
    // What is sent and accepted. With this version, small requests cost several times as much over HTTP/2.
    HERALD_SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    HERALD_SET(CURLOPT_HTTP09_ALLOWED, 0L);
    // Every coding that libcurl can decode; the callbacks bound the decoded size. The header is in the list of each
    // target, because libcurl would build its own for each request, at 3 % of the request's cost.
    HERALD_SET(CURLOPT_ACCEPT_ENCODING, "");
    HERALD_SET(CURLOPT_POST, 1L);
    HERALD_SET(CURLOPT_HTTPHEADER, settings->headers);
    HERALD_SET(CURLOPT_BUFFERSIZE, 4096L);
    HERALD_SET(CURLOPT_WRITEFUNCTION, settings->body);
    HERALD_SET(CURLOPT_WRITEDATA, settings->transfer);
    HERALD_SET(CURLOPT_HEADERFUNCTION, settings->header);
    HERALD_SET(CURLOPT_HEADERDATA, settings->transfer);
    HERALD_SET(CURLOPT_XFERINFOFUNCTION, settings->progress);
    HERALD_SET(CURLOPT_XFERINFODATA, settings->transfer);
    HERALD_SET(CURLOPT_NOPROGRESS, 0L);
    HERALD_SET(CURLOPT_ERRORBUFFER, settings->error_text);
    HERALD_SET(CURLOPT_PRIVATE, settings->transfer);
#undef HERALD_SET
    return !failed;
}

// The URL is not copied.
static inline int herald_easy_set_url(CURL *easy, CURLU *url) {
    return curl_easy_setopt(easy, CURLOPT_CURLU, url) == CURLE_OK;
}
// Connects through a proxy, with CONNECT for HTTP: the receiver's address goes to the proxy, and the proxy sees no request. Its
// response to CONNECT does not count as the receiver's. `resolve` is called before libcurl resolves the proxy's name.
static inline int herald_easy_set_proxy(CURL *easy, const char *url, curl_resolver_start_callback resolve, void *transfer) {
    return curl_easy_setopt(easy, CURLOPT_PROXY, url) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, resolve) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_RESOLVER_START_DATA, transfer) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_NOPROXY, "") == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_HTTPPROXYTUNNEL, 1L) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_PROXYAUTH, (long)CURLAUTH_BASIC) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) == CURLE_OK;
}
// Selects HTTP/2, negotiated with TLS, or by prior knowledge without it. Requests wait for a connection that is being
// made until it is known whether it carries several at once, instead of making one each. Before 8.14, libcurl lets all of
// one address and port wait for each other, whatever their host: `group` separates them as the scope of the address. The
// system reads it of link-local addresses only, which have none in a URL of Herald and so cannot be reached in any case.
// `keep`: whether the connection may be reused.
static inline void herald_easy_set_http2(CURL *easy, int secure, int keep, long group) {
    long version = secure ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, version);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_ADDRESS_SCOPE, group);
    // As much as libcurl reads at once. What does not fit into the buffer, 7.88 keeps until the next frame arrives.
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 33L * 1024);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, keep ? 0L : 1L);
}
// Whether libcurl can reuse an HTTP/2 connection without TLS. Before 8.0 it never sends the second request on such a
// connection (curl/curl#10634).
static inline int herald_curl_keeps_clear_http2(void) {
    return curl_version_info(CURLVERSION_NOW)->version_num >= 0x080000;
}
// Whether libcurl tries all transfers that wait for a connection when one changes, or one is removed. Others try one of them.
static inline int herald_curl_tries_all_waiting(void) {
    unsigned version = curl_version_info(CURLVERSION_NOW)->version_num;
    return version >= 0x080e00 && version < 0x081000;
}
// Selects OPTIONS without a body, with these headers, which are not copied.
static inline void herald_easy_set_options(CURL *easy, struct curl_slist *headers) {
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "OPTIONS");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}
// Replaces the method of a request with a body, and its headers, which are not copied.
static inline void herald_easy_set_method(CURL *easy, const char *method) {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
}
static inline void herald_easy_set_headers(CURL *easy, struct curl_slist *headers) {
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}
// The request must not use an open connection.
static inline void herald_easy_set_fresh(CURL *easy) { curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L); }
// Makes a share handle hold TLS sessions. One thread uses it, so it needs no locks.
static inline int herald_share_sessions(CURLSH *share) {
    return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) == CURLSHE_OK;
}
static inline void herald_easy_set_share(CURL *easy, CURLSH *share) { curl_easy_setopt(easy, CURLOPT_SHARE, share); }
// The TLS requirements of one delegate, copied; NULL for none. libcurl compares authorities, pin and certificate before
// it reuses a connection, or resumes a session, of another transfer. `ca_file`: as in the settings above.
static inline int herald_easy_set_tls(CURL *easy, const char *ca_file, const char *authorities, const char *pin,
                                      const char *certificate, const char *key) {
    int failed = 0;
    struct curl_blob blob = {NULL, 0, CURL_BLOB_COPY};
#define HERALD_SET_BLOB(option, text) \
    blob.data = (void *)(text), blob.len = (text) ? strlen(text) : 0; \
    failed |= curl_easy_setopt(easy, option, (text) ? &blob : NULL) != CURLE_OK
    HERALD_SET_BLOB(CURLOPT_CAINFO_BLOB, authorities);
    HERALD_SET_BLOB(CURLOPT_SSLCERT_BLOB, certificate);
    HERALD_SET_BLOB(CURLOPT_SSLKEY_BLOB, key);
#undef HERALD_SET_BLOB
    const char *folder = authorities || ca_file ? NULL : curl_version_info(CURLVERSION_NOW)->capath;
    failed |= curl_easy_setopt(easy, CURLOPT_CAPATH, folder) != CURLE_OK;
    failed |= curl_easy_setopt(easy, CURLOPT_PINNEDPUBLICKEY, pin) != CURLE_OK;
    return !failed;
}
// One entry "host:port:address:port", not copied. NULL to connect to the host of the URL, which is an address then.
static inline void herald_easy_set_connect_to(CURL *easy, struct curl_slist *entry) {
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, entry);
}
static inline void herald_easy_set_timeouts(CURL *easy, long total, long connect) {
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, total);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect);
}
// The bytes are not copied.
static inline void herald_easy_set_body(CURL *easy, const void *bytes, long count) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, bytes);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, count);
}
static inline void *herald_easy_transfer(CURL *easy) {
    char *transfer = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
    return transfer;
}
static inline long herald_easy_status(CURL *easy) {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}
static inline long herald_easy_system_error(CURL *easy) {
    long code = 0;
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &code);
    return code;
}
// The number of connections made for the transfer; 0 if it used an open one.
static inline long herald_easy_connections(CURL *easy) {
    long count = 0;
    curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &count);
    return count;
}
// Microseconds from the start of the transfer until the connection was open; 0 if it never was.
static inline long long herald_easy_connect_time(CURL *easy) {
    curl_off_t time = 0;
    curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &time);
    return time;
}
// Microseconds from the start of the transfer until the TLS handshake was complete; 0 if it never was.
static inline long long herald_easy_tls_time(CURL *easy) {
    curl_off_t time = 0;
    curl_easy_getinfo(easy, CURLINFO_APPCONNECT_TIME_T, &time);
    return time;
}
// The number of sent bytes of requests, in all that were made for the transfer.
static inline long herald_easy_request_bytes(CURL *easy) {
    long count = 0;
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &count);
    return count;
}
// The number of sent bytes of the request's body.
static inline long long herald_easy_uploaded(CURL *easy) {
    curl_off_t count = 0;
    curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &count);
    return count;
}
// The socket if the transfer used HTTP/2, otherwise -1. Call it before the handle is removed from its multi handle.
static inline int herald_easy_http2_socket(CURL *easy) {
    long version = 0;
    curl_socket_t descriptor = -1;
    curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
    if (version == CURL_HTTP_VERSION_2_0) curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &descriptor);
    return descriptor;
}

// MARK: the multi handle

static inline int herald_multi_configure(
    CURLM *multi, curl_socket_callback socket, curl_multi_timer_callback timer, void *owner, int multiplexes
) {
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket) == CURLM_OK
        && curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, owner) == CURLM_OK
        && curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer) == CURLM_OK
        && curl_multi_setopt(multi, CURLMOPT_TIMERDATA, owner) == CURLM_OK
        && curl_multi_setopt(multi, CURLMOPT_PIPELINING, multiplexes ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING) == CURLM_OK;
}
static inline void herald_multi_keep_connections(CURLM *multi, long count) {
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, count);
}
static inline int herald_multi_add(CURLM *multi, CURL *easy) { return curl_multi_add_handle(multi, easy) == CURLM_OK; }
static inline void herald_multi_remove(CURLM *multi, CURL *easy) { curl_multi_remove_handle(multi, easy); }
static inline void herald_multi_ready(CURLM *multi, int descriptor, int input, int output, int error) {
    int running;
    curl_multi_socket_action(
        multi, descriptor,
        (input ? CURL_CSELECT_IN : 0) | (output ? CURL_CSELECT_OUT : 0) | (error ? CURL_CSELECT_ERR : 0), &running);
}
static inline void herald_multi_timeout(CURLM *multi) {
    int running;
    curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
}
// The next finished transfer, or NULL.
static inline CURL *herald_multi_ended(CURLM *multi, int *result) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg == CURLMSG_DONE) {
            *result = (int)message->data.result;
            return message->easy_handle;
        }
    }
    return NULL;
}

// MARK: sockets

// Returns 4 or 6 and stores the address in `bytes` and the port in `port`; returns 0 for any other family.
static inline int herald_socket_address(const struct curl_sockaddr *address, unsigned char *bytes, unsigned short *port) {
    if (address->family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)&address->addr;
        memcpy(bytes, &in->sin_addr, 4);
        *port = ntohs(in->sin_port);
        return 4;
    }
    if (address->family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)(const void *)&address->addr;
        memcpy(bytes, &in->sin6_addr, 16);
        *port = ntohs(in->sin6_port);
        return 6;
    }
    return 0;
}
// Returns the socket, or the error as a negative number.
static inline int herald_open_socket(const struct curl_sockaddr *address) {
    int descriptor = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    return descriptor < 0 ? -errno : descriptor;
}
// Begins a connection to 4 or 16 bytes of an address, without waiting. Returns the socket, or -1. `result` is 0 if the
// connection is established, EINPROGRESS, or the error.
static inline int herald_connect(const unsigned char *bytes, int count, unsigned short port, int *result) {
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    memcpy(count == 4 ? (void *)&in.sin_addr : (void *)&in6.sin6_addr, bytes, count);
    const struct sockaddr *address = count == 4 ? (const struct sockaddr *)&in : (const struct sockaddr *)&in6;
    int descriptor = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return *result = errno, -1;
    *result = connect(descriptor, address, count == 4 ? sizeof in : sizeof in6) == 0 ? 0 : errno;
    if (*result == 0 || *result == EINPROGRESS) return descriptor;
    close(descriptor);
    return -1;
}
// 0 if the connection is established, ENOTCONN if it is not yet, otherwise the error.
static inline int herald_connect_error(int descriptor) {
    int code = 0;
    socklen_t size = sizeof code;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) != 0) return errno;
    if (code) return code;
    struct sockaddr_storage peer;
    size = sizeof peer;
    return getpeername(descriptor, (struct sockaddr *)&peer, &size) == 0 ? 0 : errno;
}
static inline unsigned herald_socket_purpose_connect(void) { return CURLSOCKTYPE_IPCXN; }

// MARK: URLs

static const int HERALD_URL_BAD_HOST = CURLUE_BAD_HOSTNAME;
static const int HERALD_URL_BAD_PORT = CURLUE_BAD_PORT_NUMBER;

static inline int herald_url_parse(CURLU *url, const char *text) {
    return (int)curl_url_set(url, CURLUPART_URL, text, CURLU_DISALLOW_USER);
}
static inline const char *herald_url_message(int code) { return curl_url_strerror((CURLUcode)code); }
static inline int herald_url_set_host(CURLU *url, const char *host) {
    return (int)curl_url_set(url, CURLUPART_HOST, host, 0);
}
// Each returns NULL if the URL lacks the part; otherwise the caller frees the text with curl_free.
static inline char *herald_url_text(CURLU *url) {
    char *text = NULL;
    return curl_url_get(url, CURLUPART_URL, &text, CURLU_NO_DEFAULT_PORT) == CURLUE_OK ? text : NULL;
}
static inline char *herald_url_scheme(CURLU *url) {
    char *text = NULL;
    return curl_url_get(url, CURLUPART_SCHEME, &text, 0) == CURLUE_OK ? text : NULL;
}
static inline char *herald_url_host(CURLU *url) {
    char *text = NULL;
    return curl_url_get(url, CURLUPART_HOST, &text, 0) == CURLUE_OK ? text : NULL;
}
static inline char *herald_url_port(CURLU *url) {
    char *text = NULL;
    return curl_url_get(url, CURLUPART_PORT, &text, CURLU_DEFAULT_PORT) == CURLUE_OK ? text : NULL;
}
static inline int herald_url_has_fragment(CURLU *url) {
    char *text = NULL;
    if (curl_url_get(url, CURLUPART_FRAGMENT, &text, 0) != CURLUE_OK) return 0;
    curl_free(text);
    return 1;
}

#endif
