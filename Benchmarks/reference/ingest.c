/* The least that accepting an event can cost: libmicrohttpd in a loop of our own, and SQLite, in C. It checks nothing.
 *
 *   ingest PORT             answers 202 at once
 *   ingest PORT DATABASE    answers 202 when the event is on disk, and that one delegate is to get it: one thread commits
 *                           all that wait, in one transaction; nothing is delivered
 */
#define _GNU_SOURCE
#include "measure.h"
#include "store.h"
#include <arpa/inet.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { BATCH = 1024 };

struct request {
    struct request *next;
    struct MHD_Connection *connection;
    int64_t id;
    int stored;
    size_t size, capacity;
    char body[];
};

static const char *database;
static int wakeup;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static struct request *first, **last = &first;
static int writer_sleeps;

static enum MHD_Result answer(struct MHD_Connection *connection, int64_t id) {
    char text[96];
    int size = snprintf(text, sizeof text, "{\"status\":\"accepted\",\"id\":\"evt_%016llx\"}", (unsigned long long)id);
    struct MHD_Response *response = MHD_create_response_from_buffer((size_t)size, text, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result result = MHD_queue_response(connection, 202, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result handle(void *unused, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **context) {
    (void)unused; (void)url; (void)version;
    struct request *request = *context;
    if (!request) {
        const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
        size_t capacity = length ? strtoul(length, NULL, 10) : 0;
        if (method[0] != 'P' || capacity > 1 << 20 || !(request = malloc(sizeof *request + capacity))) return MHD_NO;
        *request = (struct request){ .connection = connection, .capacity = capacity };
        *context = request;
        return MHD_YES;
    }
    if (*upload_size) {
        if (request->size + *upload_size > request->capacity) return MHD_NO;
        memcpy(request->body + request->size, upload, *upload_size);
        request->size += *upload_size;
        *upload_size = 0;
        return MHD_YES;
    }
    if (!database || request->stored) return answer(connection, request->id);
    MHD_suspend_connection(connection);
    pthread_mutex_lock(&lock);
    *last = request;
    last = &request->next;
    if (writer_sleeps) {
        writer_sleeps = 0;
        pthread_cond_signal(&arrived);
    }
    pthread_mutex_unlock(&lock);
    return MHD_YES;
}

static void completed(void *unused, struct MHD_Connection *connection, void **context,
                      enum MHD_RequestTerminationCode code) {
    (void)unused; (void)connection; (void)code;
    free(*context);
    *context = NULL;
}

/* Takes what waits, at most a batch. */
static struct request *take(void) {
    pthread_mutex_lock(&lock);
    while (!first) {
        writer_sleeps = 1;
        pthread_cond_wait(&arrived, &lock);
    }
    struct request *batch = first, *end = batch;
    for (int count = 1; count < BATCH && end->next; count++) end = end->next;
    first = end->next;
    if (!first) last = &first;
    end->next = NULL;
    pthread_mutex_unlock(&lock);
    return batch;
}

static void *write_batches(void *unused) {
    (void)unused;
    struct store store;
    store_open(&store, database);
    for (uint64_t number = 1;;) {
        struct request *batch = take();
        int64_t time = (int64_t)(now_ns() / 1000000u);
        store_run(&store, store.begin);
        for (struct request *request = batch; request; request = request->next) {
            char key[32];
            snprintf(key, sizeof key, "evt_%016llx", (unsigned long long)number++);
            request->id = store_add_event(&store, key, time, request->body, request->size);
            store_add_delivery(&store, request->id, 0, time);
        }
        store_run(&store, store.commit);
        /* All are answered together, after one wake-up. */
        for (struct request *request = batch, *next; request; request = next) {
            next = request->next;
            request->stored = 1;
            MHD_resume_connection(request->connection);
        }
        uint64_t one = 1;
        if (write(wakeup, &one, sizeof one) < 0) abort();
    }
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: ingest PORT [DATABASE]\n");
        return 64;
    }
    database = argv[2];
    signal(SIGPIPE, SIG_IGN);
    wakeup = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    uint16_t port = (uint16_t)atoi(argv[1]);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, port, NULL, NULL, handle, NULL,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
        MHD_OPTION_CONNECTION_TIMEOUT, 30u, MHD_OPTION_CONNECTION_LIMIT, 4096u,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)8192,
        MHD_OPTION_LISTEN_BACKLOG_SIZE, 1024u, MHD_OPTION_END);
    pthread_t writer;
    if (!daemon || (database && pthread_create(&writer, NULL, write_batches, NULL))) return 1;

    struct pollfd ready[2] = {
        { .fd = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, .events = POLLIN },
        { .fd = wakeup, .events = POLLIN } };
    for (;;) {
        MHD_UNSIGNED_LONG_LONG due;
        int timeout = MHD_get_timeout(daemon, &due) == MHD_YES && due < 250 ? (int)due : 250;
        if (timeout) poll(ready, 2, timeout);
        uint64_t count;
        if (ready[1].revents && read(wakeup, &count, sizeof count) < 0) abort();
        ready[1].revents = 0;
        MHD_run(daemon);
    }
}
