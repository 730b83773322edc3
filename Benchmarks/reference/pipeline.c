/* The least that the whole path can cost, in C: accept an event, store it with its deliveries, answer 202, post it
 * signed to each delegate, store that it was delivered.
 *
 *   pipeline PORT DATABASE RECEIVER_PORT...
 *
 * Each receiver's port is one delegate: http://127.0.0.1:RECEIVER_PORT/hook/1 and so on.
 *
 * Three threads: libmicrohttpd; SQLite, which commits all that waits in one transaction; libcurl, with 64 transfers at
 * a time, whose descriptors stay in epoll between two transfers. There are no retries and no limits.
 */
#define _GNU_SOURCE
#define OPENSSL_API_COMPAT 0x10100000L
#include "measure.h"
#include "store.h"
#include <arpa/inet.h>
#include <curl/curl.h>
#include <microhttpd.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { BATCH = 1024, TRANSFERS = 64, DESCRIPTORS = 65536, HEADERS = 5 };

struct event {
    struct event *next;
    struct MHD_Connection *connection;
    _Atomic int users;              /* the request, the writer, and each delivery */
    int stored;
    char key[24];
    size_t size, capacity;
    char body[];
};

struct delivery {
    struct delivery *next;
    struct event *event;
    int64_t id;
    int delegate;
};

static const char *database;
static int delegates;
static char **urls;

/* What waits for the writer. */
static pthread_mutex_t writer_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t writer_work = PTHREAD_COND_INITIALIZER;
static struct event *new_events, **new_events_end = &new_events;
static struct delivery *done, **done_end = &done;
static int writer_sleeps;

/* What waits for the sender. */
static pthread_mutex_t sender_lock = PTHREAD_MUTEX_INITIALIZER;
static struct delivery *due, **due_end = &due;

static int sender_wakeup, server_wakeup;

static void wake(int descriptor) {
    uint64_t one = 1;
    if (write(descriptor, &one, sizeof one) < 0) abort();
}

static void wake_writer(void) {
    if (!writer_sleeps) return;
    writer_sleeps = 0;
    pthread_cond_signal(&writer_work);
}

static void release(struct event *event) {
    if (atomic_fetch_sub_explicit(&event->users, 1, memory_order_acq_rel) == 1) free(event);
}

/* ---- Accepting ---- */

static enum MHD_Result answer(struct event *event) {
    char text[96];
    int size = snprintf(text, sizeof text, "{\"status\":\"accepted\",\"id\":\"%s\"}", event->key);
    struct MHD_Response *response = MHD_create_response_from_buffer((size_t)size, text, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result result = MHD_queue_response(event->connection, 202, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result handle(void *unused, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **context) {
    (void)unused; (void)url; (void)version;
    struct event *event = *context;
    if (!event) {
        const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
        size_t capacity = length ? strtoul(length, NULL, 10) : 0;
        if (method[0] != 'P' || capacity > 1 << 20 || !(event = malloc(sizeof *event + capacity))) return MHD_NO;
        event->next = NULL;
        event->connection = connection;
        event->users = 1;
        event->stored = 0;
        event->size = 0;
        event->capacity = capacity;
        *context = event;
        return MHD_YES;
    }
    if (*upload_size) {
        if (event->size + *upload_size > event->capacity) return MHD_NO;
        memcpy(event->body + event->size, upload, *upload_size);
        event->size += *upload_size;
        *upload_size = 0;
        return MHD_YES;
    }
    if (event->stored) return answer(event);
    atomic_fetch_add_explicit(&event->users, 1 + delegates, memory_order_relaxed);
    MHD_suspend_connection(connection);
    pthread_mutex_lock(&writer_lock);
    *new_events_end = event;
    new_events_end = &event->next;
    wake_writer();
    pthread_mutex_unlock(&writer_lock);
    return MHD_YES;
}

static void completed(void *unused, struct MHD_Connection *connection, void **context,
                      enum MHD_RequestTerminationCode code) {
    (void)unused; (void)connection; (void)code;
    if (*context) release(*context);
    *context = NULL;
}

static void serve(struct MHD_Daemon *daemon) {
    struct pollfd ready[2] = {
        { .fd = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, .events = POLLIN },
        { .fd = server_wakeup, .events = POLLIN } };
    for (;;) {
        MHD_UNSIGNED_LONG_LONG timeout;
        int milliseconds = MHD_get_timeout(daemon, &timeout) == MHD_YES && timeout < 250 ? (int)timeout : 250;
        if (milliseconds) poll(ready, 2, milliseconds);
        uint64_t count;
        if (ready[1].revents && read(server_wakeup, &count, sizeof count) < 0) abort();
        ready[1].revents = 0;
        MHD_run(daemon);
    }
}

/* ---- Storing ---- */

static void take_work(struct event **events, struct delivery **ended) {
    pthread_mutex_lock(&writer_lock);
    while (!new_events && !done) {
        writer_sleeps = 1;
        pthread_cond_wait(&writer_work, &writer_lock);
    }
    *events = new_events;
    *ended = done;
    done = NULL;
    done_end = &done;
    if (new_events) {
        struct event *end = new_events;
        for (int count = 1; count < BATCH && end->next; count++) end = end->next;
        new_events = end->next;
        if (!new_events) new_events_end = &new_events;
        end->next = NULL;
    }
    pthread_mutex_unlock(&writer_lock);
}

static void send_all(struct delivery *deliveries, struct delivery **end) {
    if (!deliveries) return;
    pthread_mutex_lock(&sender_lock);
    *due_end = deliveries;
    due_end = end;
    pthread_mutex_unlock(&sender_lock);
    wake(sender_wakeup);
}

static void answer_all(struct event *events) {
    if (!events) return;
    for (struct event *event = events, *next; event; event = next) {
        next = event->next;
        event->stored = 1;
        MHD_resume_connection(event->connection);
        release(event);
    }
    wake(server_wakeup);
}

static void *write_batches(void *unused) {
    (void)unused;
    struct store store;
    store_open(&store, database);
    for (uint64_t number = 1;;) {
        struct event *events;
        struct delivery *ended, *deliveries = NULL, **end = &deliveries;
        take_work(&events, &ended);
        int64_t time = (int64_t)(now_ns() / 1000000u);
        store_run(&store, store.begin);
        for (struct event *event = events; event; event = event->next) {
            snprintf(event->key, sizeof event->key, "evt_%016llx", (unsigned long long)number++);
            int64_t row = store_add_event(&store, event->key, time, event->body, event->size);
            for (int i = 0; i < delegates; i++) {
                struct delivery *delivery = malloc(sizeof *delivery);
                if (!delivery) abort();
                *delivery = (struct delivery){
                    .event = event, .delegate = i, .id = store_add_delivery(&store, row, i, time) };
                *end = delivery;
                end = &delivery->next;
            }
        }
        for (struct delivery *delivery = ended, *next; delivery; delivery = next) {
            next = delivery->next;
            store_end_delivery(&store, delivery->id);
            free(delivery);
        }
        store_run(&store, store.commit);
        send_all(deliveries, end);
        answer_all(events);
    }
}

/* ---- Sending ---- */

struct transfer {
    struct transfer *next;
    CURL *handle;
    struct curl_slist header[HEADERS];
    char text[HEADERS][160];
    struct delivery *delivery;
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

static struct transfer *new_transfer(void) {
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer || !(transfer->handle = curl_easy_init())) abort();
    for (int i = 0; i < HEADERS; i++) {
        transfer->header[i].data = transfer->text[i];
        transfer->header[i].next = i + 1 < HEADERS ? &transfer->header[i + 1] : NULL;
    }
    strcpy(transfer->text[0], "Content-Type: application/json");
    strcpy(transfer->text[1], "User-Agent: pipeline/1");
    CURL *handle = transfer->handle;
    curl_easy_setopt(handle, CURLOPT_URL, urls[0]);
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

/* The signature is over "id.timestamp.body", as Herald's is. */
static void sign(struct transfer *transfer, const struct event *event) {
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[32];
    unsigned size = sizeof hash;
    char prefix[64];
    int length = snprintf(prefix, sizeof prefix, "%s.%lld.", event->key, (long long)time(NULL));
    HMAC_Init_ex(signer, NULL, 0, NULL, NULL);
    HMAC_Update(signer, (unsigned char *)prefix, (size_t)length);
    HMAC_Update(signer, (const unsigned char *)event->body, event->size);
    HMAC_Final(signer, hash, &size);
    snprintf(transfer->text[2], sizeof transfer->text[2], "Webhook-Id: %s", event->key);
    snprintf(transfer->text[3], sizeof transfer->text[3], "Webhook-Timestamp: %lld", (long long)time(NULL));
    char *text = stpcpy(transfer->text[4], "Webhook-Signature: v1,");
    for (int i = 0; i < 32; i++) {
        *text++ = digits[hash[i] >> 4];
        *text++ = digits[hash[i] & 15];
    }
    *text = 0;
}

static void start(struct transfer *transfer, struct delivery *delivery) {
    transfer->delivery = delivery;
    sign(transfer, delivery->event);
    if (delegates > 1) curl_easy_setopt(transfer->handle, CURLOPT_URL, urls[delivery->delegate]);
    curl_easy_setopt(transfer->handle, CURLOPT_POSTFIELDS, (char *)delivery->event->body);
    curl_easy_setopt(transfer->handle, CURLOPT_POSTFIELDSIZE, (long)delivery->event->size);
    curl_easy_setopt(transfer->handle, CURLOPT_HTTPHEADER, transfer->header);
    curl_multi_add_handle(multi, transfer->handle);
}

static void start_due(void) {
    while (idle) {
        pthread_mutex_lock(&sender_lock);
        struct delivery *delivery = due;
        if (delivery && !(due = delivery->next)) due_end = &due;
        pthread_mutex_unlock(&sender_lock);
        if (!delivery) return;
        struct transfer *transfer = idle;
        idle = transfer->next;
        start(transfer, delivery);
    }
}

static void end_finished(void) {
    struct delivery *ended = NULL, **end = &ended;
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
        struct transfer *transfer;
        CURL *handle = message->easy_handle;
        curl_easy_getinfo(handle, CURLINFO_PRIVATE, &transfer);
        curl_multi_remove_handle(multi, handle);
        struct delivery *delivery = transfer->delivery;
        release(delivery->event);
        delivery->next = NULL;
        *end = delivery;
        end = &delivery->next;
        transfer->next = idle;
        idle = transfer;
    }
    if (!ended) return;
    pthread_mutex_lock(&writer_lock);
    *done_end = ended;
    done_end = end;
    wake_writer();
    pthread_mutex_unlock(&writer_lock);
}

static void handle_descriptor(struct epoll_event *event) {
    int running, what = 0;
    if (event->data.fd == sender_wakeup) {
        uint64_t count;
        if (read(sender_wakeup, &count, sizeof count) < 0) abort();
        return;
    }
    if (event->events & EPOLLIN) what |= CURL_CSELECT_IN;
    if (event->events & EPOLLOUT) what |= CURL_CSELECT_OUT;
    if (event->events & (EPOLLERR | EPOLLHUP)) what |= CURL_CSELECT_ERR;
    curl_multi_socket_action(multi, event->data.fd, what, &running);
}

static void *send_deliveries(void *unused) {
    (void)unused;
    static const char secret[] = "a secret of thirty-two characters";
    multi = curl_multi_init();
    poller = epoll_create1(EPOLL_CLOEXEC);
    signer = HMAC_CTX_new();
    HMAC_Init_ex(signer, secret, sizeof secret - 1, EVP_sha256(), NULL);
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket_changed);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_changed);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)TRANSFERS * 2);
    struct epoll_event wakeup = { .events = EPOLLIN, .data.fd = sender_wakeup };
    if (epoll_ctl(poller, EPOLL_CTL_ADD, sender_wakeup, &wakeup)) abort();
    for (int i = 0; i < TRANSFERS; i++) {
        struct transfer *transfer = new_transfer();
        transfer->next = idle;
        idle = transfer;
    }
    for (;;) {
        start_due();
        uint64_t now = now_ns();
        uint64_t wait = timer == UINT64_MAX ? 250 : timer <= now ? 0 : (timer - now + 999999u) / 1000000u;
        struct epoll_event events[256];
        int ready = epoll_wait(poller, events, 256, wait > 250 ? 250 : (int)wait), running;
        for (int i = 0; i < ready; i++) handle_descriptor(&events[i]);
        if (timer <= now_ns()) {
            timer = UINT64_MAX;
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        end_finished();
    }
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: pipeline PORT DATABASE RECEIVER_PORT...\n");
        return 64;
    }
    signal(SIGPIPE, SIG_IGN);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    uint16_t port = (uint16_t)atoi(argv[1]);
    database = argv[2];
    delegates = argc - 3;
    urls = calloc((size_t)delegates, sizeof *urls);
    for (int i = 0; i < delegates; i++)
        if (asprintf(&urls[i], "http://127.0.0.1:%s/hook/%d", argv[3 + i], i + 1) < 0) return 1;
    sender_wakeup = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    server_wakeup = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, port, NULL, NULL, handle, NULL,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
        MHD_OPTION_CONNECTION_TIMEOUT, 30u, MHD_OPTION_CONNECTION_LIMIT, 4096u,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)8192,
        MHD_OPTION_LISTEN_BACKLOG_SIZE, 1024u, MHD_OPTION_END);
    pthread_t writer, sender;
    if (!daemon) return 1;
    if (pthread_create(&writer, NULL, write_batches, NULL)) return 1;
    if (pthread_create(&sender, NULL, send_deliveries, NULL)) return 1;
    serve(daemon);
}
