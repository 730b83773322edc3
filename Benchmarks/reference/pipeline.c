/* The least that the whole path can cost, in C: accept an event, store it with its deliveries, answer 202, post it
 * signed to each delegate, store that it was delivered.
 *
 *   pipeline PORT DATABASE RECEIVER_PORT...
 *
 * Each receiver's port is one delegate: http://127.0.0.1:RECEIVER_PORT/hook/1 and so on.
 *
 * Three threads: libmicrohttpd; SQLite, which commits all that waits in one transaction; libcurl. There are no retries and
 * no limits.
 */
#define _GNU_SOURCE
#include "measure.h"
#include "sender.h"
#include "store.h"
#include <arpa/inet.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { BATCH = 1024 };

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

static void start_due(void) {
    while (idle) {
        pthread_mutex_lock(&sender_lock);
        struct delivery *delivery = due;
        if (delivery && !(due = delivery->next)) due_end = &due;
        pthread_mutex_unlock(&sender_lock);
        if (!delivery) return;
        const struct event *event = delivery->event;
        sender_start(urls[delivery->delegate], event->key, event->body, event->size, delivery);
    }
}

static void end_finished(void) {
    struct delivery *ended = NULL, **end = &ended, *delivery;
    long status;
    while ((delivery = sender_ended(&status))) {
        release(delivery->event);
        delivery->next = NULL;
        *end = delivery;
        end = &delivery->next;
    }
    if (!ended) return;
    pthread_mutex_lock(&writer_lock);
    *done_end = ended;
    done_end = end;
    wake_writer();
    pthread_mutex_unlock(&writer_lock);
}

static void *send_deliveries(void *unused) {
    (void)unused;
    sender_open(sender_wakeup);
    for (;;) {
        start_due();
        sender_wait(sender_wakeup);
        end_finished();
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: pipeline PORT DATABASE RECEIVER_PORT...\n");
        return 64;
    }
    signal(SIGPIPE, SIG_IGN);
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
