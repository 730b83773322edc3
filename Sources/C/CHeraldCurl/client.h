// The part of libcurl that `Client` of HeraldHTTP uses: one request at a time, on the calling thread. `shim.h` is for
// HeraldWebhooks.
#ifndef HERALD_CCURL_CLIENT_H
#define HERALD_CCURL_CLIENT_H

#include <curl/curl.h>

struct herald_client_request {
    const char *method;
    const char *url;
    const void *body;           // not copied; NULL for none
    long body_count;
    struct curl_slist *headers; // not copied
    struct curl_slist *connect_to; // where to connect, instead of the URL's host; not copied; NULL for the host
    const char *user_agent;
    const char *ca_file;        // NULL for the system's
    const char *certificate;    // of the client, a file in PEM; NULL for none
    const char *key;            // of the certificate
    int proxy_header;           // whether to begin the connection with the header of the PROXY protocol
    int direct;                 // whether to bypass the proxies of the environment
    int unverified;             // whether to accept any certificate
    long timeout;               // milliseconds in total; 0 for no limit
    char *error_text;           // CURL_ERROR_SIZE bytes, valid until the transfer has ended
    void *owner;                // passed to the callbacks
    curl_write_callback receive;
    curl_write_callback header;
    curl_xferinfo_callback progress; // called about once a second to ask whether to continue; NULL for none
};

static const int HERALD_CLIENT_CONNECT_MILLISECONDS = 10000;
static const int HERALD_CLIENT_ERROR_SIZE = CURL_ERROR_SIZE;
static const int HERALD_CLIENT_OK = CURLE_OK;
static const int HERALD_CLIENT_BAD_URL = CURLE_URL_MALFORMAT;
static const int HERALD_CLIENT_NOT_HTTP = CURLE_UNSUPPORTED_PROTOCOL;
static inline int herald_client_is_connection(int code) {
    return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST;
}
static inline int herald_client_is_tls(int code) {
    return code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM ||
           code == CURLE_SSL_CIPHER || code == CURLE_SSL_CACERT_BADFILE;
}

static inline int herald_client_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK; }

static inline int herald_client_run(CURLM *connections, CURL *easy);

// Performs the request, over an open connection of `connections` if there is one. The process has to ignore SIGPIPE.
// Each request has a handle of its own: from 7.84 to 8.0, libcurl keeps a pointer into freed headers in a handle that is
// used again.
static inline int herald_client_perform(CURLM *connections, const struct herald_client_request *request) {
    CURL *easy = curl_easy_init();
    CURLcode failed = easy ? CURLE_OK : CURLE_OUT_OF_MEMORY;
#define HERALD_SET(option, value) \
    if (failed == CURLE_OK) failed = curl_easy_setopt(easy, option, value)
    HERALD_SET(CURLOPT_PROTOCOLS_STR, "http,https");
    HERALD_SET(CURLOPT_URL, request->url);
    HERALD_SET(CURLOPT_PATH_AS_IS, 1L); // an id such as ".." is for the server to refuse
    if (request->body) {
        HERALD_SET(CURLOPT_POST, 1L);
        HERALD_SET(CURLOPT_POSTFIELDS, request->body);
        HERALD_SET(CURLOPT_POSTFIELDSIZE, request->body_count);
    }
    HERALD_SET(CURLOPT_CUSTOMREQUEST, request->method);
    HERALD_SET(CURLOPT_HTTPHEADER, request->headers);
    HERALD_SET(CURLOPT_USERAGENT, request->user_agent);
    if (request->ca_file) {
        HERALD_SET(CURLOPT_CAINFO, request->ca_file);
        HERALD_SET(CURLOPT_CAPATH, NULL); // otherwise the system's folder of authorities is trusted as well
    }
    if (request->certificate) HERALD_SET(CURLOPT_SSLCERT, request->certificate);
    if (request->key) HERALD_SET(CURLOPT_SSLKEY, request->key);
    if (request->unverified) {
        HERALD_SET(CURLOPT_SSL_VERIFYPEER, 0L);
        HERALD_SET(CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (request->connect_to) HERALD_SET(CURLOPT_CONNECT_TO, request->connect_to);
    if (request->proxy_header) HERALD_SET(CURLOPT_HAPROXYPROTOCOL, 1L);
    if (request->direct) HERALD_SET(CURLOPT_PROXY, "");
    HERALD_SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    HERALD_SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    HERALD_SET(CURLOPT_HTTP09_ALLOWED, 0L);
    HERALD_SET(CURLOPT_CONNECTTIMEOUT_MS, (long)HERALD_CLIENT_CONNECT_MILLISECONDS);
    HERALD_SET(CURLOPT_TIMEOUT_MS, request->timeout);
    HERALD_SET(CURLOPT_WRITEFUNCTION, request->receive);
    HERALD_SET(CURLOPT_WRITEDATA, request->owner);
    HERALD_SET(CURLOPT_HEADERFUNCTION, request->header);
    HERALD_SET(CURLOPT_HEADERDATA, request->owner);
    if (request->progress) {
        HERALD_SET(CURLOPT_NOPROGRESS, 0L);
        HERALD_SET(CURLOPT_XFERINFOFUNCTION, request->progress);
        HERALD_SET(CURLOPT_XFERINFODATA, request->owner);
    }
    HERALD_SET(CURLOPT_ERRORBUFFER, request->error_text);
#undef HERALD_SET
    int result = failed == CURLE_OK ? herald_client_run(connections, easy) : (int)failed;
    curl_easy_cleanup(easy);
    return result;
}

static inline int herald_client_run(CURLM *connections, CURL *easy) {
    CURLMcode failed = curl_multi_add_handle(connections, easy);
    if (failed) return failed == CURLM_OUT_OF_MEMORY ? CURLE_OUT_OF_MEMORY : CURLE_FAILED_INIT;
    int running = 1;
    while (!failed && running) {
        failed = curl_multi_perform(connections, &running);
        if (!failed && running) failed = curl_multi_poll(connections, NULL, 0, 1000, NULL);
    }
    int left, result = CURLE_FAILED_INIT;
    CURLMsg *message = failed ? NULL : curl_multi_info_read(connections, &left);
    if (message) result = (int)message->data.result;
    curl_multi_remove_handle(connections, easy);
    return result;
}

// The return value with which a body callback ends the transfer: 0 would not, for a piece of 0 bytes.
static inline size_t herald_client_stop(void) { return CURL_WRITEFUNC_ERROR; }

static inline const char *herald_client_message(int code) { return curl_easy_strerror((CURLcode)code); }

#endif
