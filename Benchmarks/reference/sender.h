/* Sending as Herald sends, by libcurl and nothing else: signed posts with the same headers, 64 at a time, over connections
 * that are kept, whose descriptors stay in epoll between two requests. For one thread. */
#ifndef SENDER_H
#define SENDER_H
#define OPENSSL_API_COMPAT 0x10100000L
#include "measure.h"
#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { TRANSFERS = 64, HEADERS = 9, DESCRIPTORS = 65536 };

/* A handle of libcurl, used for one request after the other. */
struct transfer {
    struct transfer *next;
    CURL *handle;
    struct curl_slist header[HEADERS];
    char text[HEADERS][160];
    const char *url;
    void *owner;                    /* what the caller keeps of the request */
};

static CURLM *multi;
static int poller;
static struct { char added, interest; } descriptors[DESCRIPTORS];
static uint64_t timer = UINT64_MAX;
static HMAC_CTX *signer;
static struct transfer *idle;

/* A descriptor stays registered until it is closed: each transfer saves two system calls. */
static int socket_changed(CURL *handle, curl_socket_t socket, int what, void *unused, void *data) {
    (void)handle; (void)unused; (void)data;
    if (what == CURL_POLL_REMOVE || what == CURL_POLL_NONE) return 0;
    if (descriptors[socket].added && descriptors[socket].interest == what) return 0;
    struct epoll_event event = { .data.fd = socket };
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    int operation = descriptors[socket].added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(poller, operation, socket, &event)) abort();
    descriptors[socket].added = 1;
    descriptors[socket].interest = (char)what;
    return 0;
}

static int socket_closes(void *unused, curl_socket_t socket) {
    (void)unused;
    descriptors[socket].added = 0;
    return close(socket);
}

static int timer_changed(CURLM *unused, long milliseconds, void *data) {
    (void)unused; (void)data;
    timer = milliseconds < 0 ? UINT64_MAX : now_ns() + (uint64_t)milliseconds * 1000000u;
    return 0;
}

static size_t ignore(char *bytes, size_t size, size_t count, void *unused) {
    (void)bytes; (void)unused;
    return size * count;
}

/* The first three differ from request to request. */
static void set_headers(struct transfer *transfer) {
    static const char *const constant[] = {
        "herald-attempt: 1", "content-type: application/json", "user-agent: reference/1",
        "herald-delegate: dlg_00000000000000000000000001", "accept-encoding: gzip, deflate, br, zstd", "Expect:" };
    for (int i = 0; i < HEADERS; i++) {
        transfer->header[i].data = transfer->text[i];
        transfer->header[i].next = i + 1 < HEADERS ? &transfer->header[i + 1] : NULL;
        if (i >= 3) strcpy(transfer->text[i], constant[i - 3]);
    }
}

static struct transfer *new_transfer(void) {
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer || !(transfer->handle = curl_easy_init())) abort();
    set_headers(transfer);
    CURL *handle = transfer->handle;
    curl_easy_setopt(handle, CURLOPT_POST, 1L);
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, 15000L);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, ignore);
    curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, socket_closes);
    curl_easy_setopt(handle, CURLOPT_PRIVATE, transfer);
    return transfer;
}

/* `wakeup`: an eventfd that ends a wait, or -1. */
static void sender_open(int wakeup) {
    static const char secret[] = "a secret of thirty-two characters";
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    poller = epoll_create1(EPOLL_CLOEXEC);
    signer = HMAC_CTX_new();
    HMAC_Init_ex(signer, secret, sizeof secret - 1, EVP_sha256(), NULL);
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket_changed);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_changed);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)TRANSFERS * 2);
    struct epoll_event event = { .events = EPOLLIN, .data.fd = wakeup };
    if (wakeup >= 0 && epoll_ctl(poller, EPOLL_CTL_ADD, wakeup, &event)) abort();
    for (int i = 0; i < TRANSFERS; i++) {
        struct transfer *transfer = new_transfer();
        transfer->next = idle;
        idle = transfer;
    }
}

/* The signature is over "id.timestamp.body", as Herald's is. */
static void sign(struct transfer *transfer, const char *key, const char *body, size_t size) {
    unsigned char hash[32];
    unsigned hash_size = sizeof hash;
    char prefix[64];
    long long seconds = (long long)time(NULL);
    int length = snprintf(prefix, sizeof prefix, "%s.%lld.", key, seconds);
    HMAC_Init_ex(signer, NULL, 0, NULL, NULL);
    HMAC_Update(signer, (unsigned char *)prefix, (size_t)length);
    HMAC_Update(signer, (const unsigned char *)body, size);
    HMAC_Final(signer, hash, &hash_size);
    snprintf(transfer->text[0], sizeof transfer->text[0], "webhook-id: %s", key);
    snprintf(transfer->text[1], sizeof transfer->text[1], "webhook-timestamp: %lld", seconds);
    char *end = stpcpy(transfer->text[2], "webhook-signature: v1,");
    EVP_EncodeBlock((unsigned char *)end, hash, (int)hash_size);
}

/* Takes an idle transfer, of which there must be one. The body has to stay until the request has ended. */
static void sender_start(const char *url, const char *key, const char *body, size_t size, void *owner) {
    struct transfer *transfer = idle;
    idle = transfer->next;
    transfer->owner = owner;
    sign(transfer, key, body, size);
    if (transfer->url != url) curl_easy_setopt(transfer->handle, CURLOPT_URL, transfer->url = url);
    curl_easy_setopt(transfer->handle, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(transfer->handle, CURLOPT_POSTFIELDSIZE, (long)size);
    curl_easy_setopt(transfer->handle, CURLOPT_HTTPHEADER, transfer->header);
    curl_multi_add_handle(multi, transfer->handle);
}

static void handle_descriptor(const struct epoll_event *event, int wakeup) {
    int running, what = 0;
    if (event->data.fd == wakeup) {
        uint64_t count;
        if (read(wakeup, &count, sizeof count) < 0) abort();
        return;
    }
    if (event->events & EPOLLIN) what |= CURL_CSELECT_IN;
    if (event->events & EPOLLOUT) what |= CURL_CSELECT_OUT;
    if (event->events & (EPOLLERR | EPOLLHUP)) what |= CURL_CSELECT_ERR;
    curl_multi_socket_action(multi, event->data.fd, what, &running);
}

/* Sends and receives; returns when something happened, or after a quarter of a second. */
static void sender_wait(int wakeup) {
    uint64_t now = now_ns();
    uint64_t wait = timer == UINT64_MAX ? 250 : timer <= now ? 0 : (timer - now + 999999u) / 1000000u;
    struct epoll_event events[256];
    int ready = epoll_wait(poller, events, 256, wait > 250 ? 250 : (int)wait), running;
    for (int i = 0; i < ready; i++) handle_descriptor(&events[i], wakeup);
    if (timer > now_ns()) return;
    timer = UINT64_MAX;
    curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

/* The owner of a request that has ended, whose transfer is idle again; NULL: there is none. `status`: 0 without an answer. */
static void *sender_ended(long *status) {
    int left;
    CURLMsg *message = curl_multi_info_read(multi, &left);
    if (!message) return NULL;
    CURL *handle = message->easy_handle;
    struct transfer *transfer;
    *status = 0;
    if (message->data.result == CURLE_OK) curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, status);
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &transfer);
    curl_multi_remove_handle(multi, handle);
    transfer->next = idle;
    idle = transfer;
    return transfer->owner;
}
#endif
