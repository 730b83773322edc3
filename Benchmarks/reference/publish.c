/* Posts events, and prints one line of JSON: how many, how fast, how soon they were answered.
 *
 *   publish -p PORT … [-c CONNECTIONS] [-d SECONDS] [-n EVENTS] [-r RATE] [-s BYTES] [-b EVENTS]
 *     -p   of the server; several for several servers, among which the connections are divided
 *     -c   keep-alive connections                                    (default 64)
 *     -d   ends after this time, and the answers that are due then   (default 3)
 *     -n   ends after this many events, if that is sooner            (default: no limit)
 *     -r   events per second, evenly; a late one is measured from the time at which it was due
 *          (default: each connection posts its next event when the last one was answered)
 *     -s   size of an event                                          (default 512)
 *     -b   events in a request, as an array                          (default 1: the event itself)
 *
 * Each event has a number of its own, and the time at which it was sent, inside its data.
 */
#define _GNU_SOURCE
#include "measure.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { REQUEST = 256 * 1024, BATCH = 200, ANSWER = 64 * 1024, EVENTS = 256, SERVERS = 16 };

struct connection {
    int fd;
    uint64_t sent_ns;
    size_t size;
    struct connection *next_free;
    char answer[ANSWER];
};

static int ports[SERVERS], servers, connections = 64, event_size = 512, batch = 1;
static double seconds = 3, rate;
static uint64_t limit = UINT64_MAX;

static int poller;
static char request[REQUEST];
static size_t request_size;
static char *id_fields[BATCH], *time_fields[BATCH];
/* Taken in turns, so that none is idle for so long that the server closes it. */
static struct connection *first_free, **last_free = &first_free;
static uint64_t started, accepted, refused;
static int waiting;
static struct histogram latency;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* One request for all; only two fields of fixed width of each event change. JSON allows spaces before a number. */
static void make_request(void) {
    char event[REQUEST / 2];
    int size = snprintf(event, sizeof event,
        "{\"type\":\"order.created\",\"subject\":\"customer-17\",\"data\":{"
        "\"benchmark_id\":%20d,\"sent_ns\":%20d,"
        "\"order\":\"A-1001\",\"amount\":1299,\"currency\":\"EUR\",\"paid\":true,"
        "\"items\":[{\"sku\":\"X1\",\"quantity\":2},{\"sku\":\"Y2\",\"quantity\":1}],\"note\":\"", 0, 0);
    while (size < event_size - 3 && size < (int)sizeof event - 4) event[size++] = 'x';
    size += sprintf(event + size, "\"}}");
    /* Commas, and brackets if there is more than one event. */
    int length = batch * size + batch - 1 + (batch > 1 ? 2 : 0);
    if (length > REQUEST - 512) { fprintf(stderr, "publish: the request is larger than %d bytes\n", REQUEST - 512); exit(64); }
    char *end = request + sprintf(request,
        "POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", length);
    if (batch > 1) *end++ = '[';
    for (int i = 0; i < batch; i++) {
        if (i > 0) *end++ = ',';
        memcpy(end, event, (size_t)size);
        id_fields[i] = strstr(end, "\"benchmark_id\":") + 15;
        time_fields[i] = strstr(end, "\"sent_ns\":") + 10;
        end += size;
    }
    if (batch > 1) *end++ = ']';
    request_size = (size_t)(end - request);
}

static void write_number(char *field, uint64_t number) {
    for (int i = 19; i >= 0; i--, number /= 10) field[i] = number || i == 19 ? (char)('0' + number % 10) : ' ';
}

static void post(struct connection *connection, uint64_t time) {
    for (int i = 0; i < batch; i++) {
        write_number(id_fields[i], ++started);
        write_number(time_fields[i], time);
    }
    connection->sent_ns = time;
    connection->size = 0;
    waiting++;
    if (send(connection->fd, request, request_size, MSG_NOSIGNAL) != (ssize_t)request_size) fail("send");
}

/* Whether the answer is complete. */
static bool is_complete(struct connection *connection) {
    connection->answer[connection->size] = 0;
    char *end = strstr(connection->answer, "\r\n\r\n"), *length = strcasestr(connection->answer, "content-length:");
    if (!end) return false;
    size_t body = length && length < end ? strtoul(length + 15, NULL, 10) : 0;
    return connection->size >= (size_t)(end + 4 - connection->answer) + body;
}

/* Returns whether the connection is free for its next event. */
static bool receive(struct connection *connection) {
    ssize_t size = recv(connection->fd, connection->answer + connection->size, ANSWER - 1 - connection->size, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (size <= 0) fail("the server closed a connection");
    connection->size += (size_t)size;
    if (!is_complete(connection)) return false;
    waiting--;
    histogram_add(&latency, now_ns() - connection->sent_ns);
    *(strncmp(connection->answer, "HTTP/1.1 20", 11) ? &refused : &accepted) += (uint64_t)batch;
    return true;
}

static void put_back(struct connection *connection) {
    connection->next_free = NULL;
    *last_free = connection;
    last_free = &connection->next_free;
}

static void connect_one(int port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct connection *connection = calloc(1, sizeof *connection);
    int one = 1;
    if (!connection) fail("calloc");
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection->fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = connection };
    if (epoll_ctl(poller, EPOLL_CTL_ADD, connection->fd, &event)) fail("epoll_ctl");
    put_back(connection);
}

/* Posts what is due. Returns the time of the next event, or 0 when one has to wait for a connection. */
static uint64_t post_due(uint64_t start, uint64_t end) {
    for (;;) {
        uint64_t now = now_ns(), due = rate > 0 ? start + (uint64_t)((double)started * 1e9 / rate) : now;
        if (due >= end || started >= limit) return UINT64_MAX;
        if (due > now) return due;
        struct connection *connection = first_free;
        if (!connection) return 0;
        first_free = connection->next_free;
        if (!first_free) last_free = &first_free;
        post(connection, due);
    }
}

static void read_options(int count, char **arguments) {
    int option;
    while ((option = getopt(count, arguments, "p:c:d:n:r:s:b:")) != -1) {
        switch (option) {
            case 'p': if (servers < SERVERS) ports[servers++] = atoi(optarg); break;
            case 'c': connections = atoi(optarg); break;
            case 'd': seconds = atof(optarg); break;
            case 'n': limit = strtoull(optarg, NULL, 10); break;
            case 'r': rate = atof(optarg); break;
            case 's': event_size = atoi(optarg); break;
            case 'b': batch = atoi(optarg); break;
            default: exit(64);
        }
    }
    if (servers > 0 && connections > 0 && event_size < REQUEST / 2 && batch > 0 && batch <= BATCH) return;
    fprintf(stderr, "usage: publish -p PORT … [-c CONNECTIONS] [-d SECONDS] [-n EVENTS] [-r RATE] [-s BYTES] [-b EVENTS]\n");
    exit(64);
}

int main(int argc, char **argv) {
    read_options(argc, argv);
    make_request();
    poller = epoll_create1(EPOLL_CLOEXEC);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct epoll_event timer_event = { .events = EPOLLIN, .data.ptr = NULL };
    if (epoll_ctl(poller, EPOLL_CTL_ADD, timer, &timer_event)) fail("epoll_ctl");
    for (int i = 0; i < connections; i++) connect_one(ports[i % servers]);

    uint64_t start = now_ns(), end = start + (uint64_t)(seconds * 1e9), armed = 0, last = start;
    for (;;) {
        uint64_t next = post_due(start, end);
        if (next == UINT64_MAX && waiting == 0) break;
        if (next && next != UINT64_MAX && next != armed) {
            struct itimerspec time = { .it_value = { (time_t)(next / 1000000000u), (long)(next % 1000000000u) } };
            timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL);
            armed = next;
        }
        struct epoll_event events[EVENTS];
        int ready = epoll_wait(poller, events, EVENTS, 30000);
        if (ready == 0) { fprintf(stderr, "publish: no answer for 30 s\n"); return 1; }
        for (int i = 0; i < ready; i++) {
            struct connection *connection = events[i].data.ptr;
            if (!connection) {
                uint64_t ticks;
                if (read(timer, &ticks, sizeof ticks) < 0 && errno != EAGAIN) fail("read");
            } else if (receive(connection)) {
                put_back(connection);
            }
        }
        last = now_ns();
    }
    double elapsed = (double)(last - start) / 1e9;
    printf("{\"accepted\":%llu,\"refused\":%llu,\"seconds\":%.6f,\"per_s\":%.1f,"
        "\"latency_us\":%s}\n",
        (unsigned long long)accepted, (unsigned long long)refused, elapsed, (double)accepted / elapsed,
        histogram_json(&latency, (char[512]){0}, 512));
    return 0;
}
