/* A receiver of callbacks: counts them, and measures how long after its posting each event arrived.
 *
 *   receiver PORT...     on 127.0.0.1; a client of several ports sees several hosts
 *
 * It answers 204 at once. By the query of its URL it can be a bad one: /hook/7?hang=1 never answers,
 * /hook/7?delay_ms=50 answers late. What it counts as received is what it answers.
 *
 *   GET /stats           received, unique (by path and event), hanging, latencies in microseconds, its own CPU time
 *   GET /reset           all of it to zero
 *
 * The body of a callback contains "benchmark_id":NUMBER and "sent_ns":NUMBER, nanoseconds of CLOCK_MONOTONIC.
 */
#define _GNU_SOURCE
#include "measure.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { INPUT = 256 * 1024, EVENTS = 256 };

struct connection {
    int fd;
    bool listens;
    bool waits;                    /* for the end of its delay, or for ever */
    uint64_t due;
    struct connection *next_due;   /* delayed answers, soonest first */
    size_t size;
    char input[INPUT];
};

static int poller;
static struct connection *delayed, *last_delayed;
static uint64_t received, hanging, bad, first_ns, last_ns;
static struct histogram latency;

/* The numbers of what has arrived; 0 is a free place. */
static struct { uint64_t *place; size_t capacity, count; } known;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* ---- What has arrived ---- */

static void know(uint64_t key) {
    if (known.count * 2 >= known.capacity) {
        uint64_t *old = known.place;
        size_t old_capacity = known.capacity;
        known.capacity = old_capacity ? old_capacity * 2 : 1 << 16;
        known.place = calloc(known.capacity, sizeof *known.place);
        known.count = 0;
        if (!known.place) fail("calloc");
        for (size_t i = 0; i < old_capacity; i++) if (old[i]) know(old[i]);
        free(old);
    }
    size_t mask = known.capacity - 1, i = (key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & mask;
    while (known.place[i] && known.place[i] != key) i = (i + 1) & mask;
    if (!known.place[i]) known.count++;
    known.place[i] = key;
}

static uint64_t number_after(const char *text, size_t size, const char *mark) {
    const char *found = memmem(text, size, mark, strlen(mark));
    return found ? strtoull(found + strlen(mark), NULL, 10) : 0;
}

static void count(uint64_t path, const char *body, size_t size, uint64_t now) {
    uint64_t event = number_after(body, size, "\"benchmark_id\":"), sent = number_after(body, size, "\"sent_ns\":");
    received++;
    if (!first_ns) first_ns = now;
    last_ns = now;
    if (sent && sent <= now) histogram_add(&latency, now - sent);
    if (event) know(path << 40 | event);
}

static void reset(void) {
    received = hanging = bad = first_ns = last_ns = 0;
    memset(&latency, 0, sizeof latency);
    free(known.place);
    memset(&known, 0, sizeof known);
}

static int stats(char *text, size_t size) {
    return snprintf(text, size,
        "{\"received\":%llu,\"unique\":%zu,\"hanging\":%llu,\"bad\":%llu,\"seconds\":%.6f,\"latency_us\":%s}\n",
        (unsigned long long)received, known.count, (unsigned long long)hanging, (unsigned long long)bad,
        (double)(last_ns - first_ns) / 1e9, histogram_json(&latency, (char[512]){0}, 512));
}

/* ---- Connections ---- */

static void watch(struct connection *connection, uint32_t events, int operation) {
    struct epoll_event event = { .events = events, .data.ptr = connection };
    if (epoll_ctl(poller, operation, connection->fd, &event)) fail("epoll_ctl");
}

static void close_connection(struct connection *connection) {
    for (struct connection **place = &delayed; *place; place = &(*place)->next_due) {
        if (*place != connection) continue;
        *place = connection->next_due;
        break;
    }
    last_delayed = NULL;           /* Found again by the next one. */
    close(connection->fd);
    free(connection);
}

/* The answers are small: a socket buffer that has no room for one belongs to a client that doesn't read. */
static bool send_all(struct connection *connection, const char *text, size_t size) {
    return send(connection->fd, text, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static bool answer(struct connection *connection) {
    static const char text[] = "HTTP/1.1 204 No Content\r\n\r\n";
    return send_all(connection, text, sizeof text - 1);
}

static bool answer_with(struct connection *connection, const char *body, int size) {
    char text[2048];
    int length = snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%.*s", size, size, body);
    return send_all(connection, text, (size_t)length);
}

static void delay(struct connection *connection, uint64_t due) {
    /* Mostly all delays are alike, and it is the last. */
    struct connection **place = delayed && last_delayed && last_delayed->due <= due ? &last_delayed->next_due : &delayed;
    while (*place && (*place)->due <= due) place = &(*place)->next_due;
    connection->due = due;
    connection->next_due = *place;
    *place = connection;
    if (!connection->next_due) last_delayed = connection;
    connection->waits = true;
}

/* Returns false when the connection is to be closed. */
static bool handle(struct connection *connection, const char *head, size_t head_size, const char *body, size_t size) {
    const char *path = memchr(head, ' ', head_size);
    const char *end = path ? memchr(path + 1, ' ', head_size - (size_t)(path + 1 - head)) : NULL;
    if (!end) { bad++; return false; }
    path++;
    size_t path_size = (size_t)(end - path);
    char text[1024];
    if (path_size == 6 && !memcmp(path, "/stats", 6)) return answer_with(connection, text, stats(text, sizeof text));
    if (path_size == 6 && !memcmp(path, "/reset", 6)) { reset(); return answer_with(connection, "", 0); }

    if (number_after(path, path_size, "hang=")) {
        hanging++;
        connection->waits = true;
        return true;
    }
    uint64_t now = now_ns(), milliseconds = number_after(path, path_size, "delay_ms=");
    count(number_after(path, path_size, "/hook/"), body, size, now);
    if (!milliseconds) return answer(connection);
    delay(connection, now + milliseconds * 1000000u);
    return true;
}

/* Handles the requests that are complete. Returns false when the connection is to be closed. */
static bool process(struct connection *connection) {
    size_t used = 0;
    while (!connection->waits && used < connection->size) {
        char *head = connection->input + used;
        size_t size = connection->size - used;
        char *head_end = memmem(head, size, "\r\n\r\n", 4);
        if (!head_end) break;
        size_t head_size = (size_t)(head_end + 4 - head), body_size = 0;
        for (char *line = head; (line = memchr(line, '\n', (size_t)(head_end - line))); ) {
            line++;
            if (!strncasecmp(line, "content-length:", 15)) body_size = strtoul(line + 15, NULL, 10);
            if (!strncasecmp(line, "transfer-encoding:", 18)) { bad++; return false; }
        }
        if (head_size + body_size >= INPUT) { bad++; return false; }
        if (size < head_size + body_size) break;
        if (!handle(connection, head, head_size, head + head_size, body_size)) return false;
        used += head_size + body_size;
    }
    if (used) memmove(connection->input, connection->input + used, connection->size -= used);
    return connection->size < INPUT - 1;
}

static void readable(struct connection *connection) {
    ssize_t size = recv(connection->fd, connection->input + connection->size, INPUT - 1 - connection->size, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size > 0) {
        connection->size += (size_t)size;
        connection->input[connection->size] = 0;
        bool waited = connection->waits;
        if (!process(connection)) return close_connection(connection);
        /* What waits is only asked whether its client has gone. */
        if (connection->waits && !waited) watch(connection, EPOLLRDHUP, EPOLL_CTL_MOD);
        return;
    }
    close_connection(connection);
}

static void accept_all(int listener) {
    int one = 1, fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct connection *connection = calloc(1, sizeof *connection);
        if (!connection) fail("calloc");
        connection->fd = fd;
        watch(connection, EPOLLIN, EPOLL_CTL_ADD);
    }
}

static void answer_delayed(void) {
    uint64_t now = delayed ? now_ns() : 0;
    while (delayed && delayed->due <= now) {
        struct connection *connection = delayed;
        delayed = connection->next_due;
        connection->waits = false;
        watch(connection, EPOLLIN, EPOLL_CTL_MOD);
        if (!answer(connection) || !process(connection)) close_connection(connection);
    }
}

static void listen_on(int port) {
    struct connection *listener = calloc(1, sizeof *listener);
    int one = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    if (!listener) fail("calloc");
    listener->listens = true;
    listener->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener->fd, (struct sockaddr *)&address, sizeof address) || listen(listener->fd, 4096)) fail("listen");
    watch(listener, EPOLLIN, EPOLL_CTL_ADD);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: receiver PORT...\n");
        return 64;
    }
    poller = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 1; i < argc; i++) listen_on(atoi(argv[i]));

    for (;;) {
        struct epoll_event events[EVENTS];
        uint64_t now = delayed ? now_ns() : 0;
        int timeout = !delayed ? -1 : delayed->due <= now ? 0 : (int)((delayed->due - now + 999999u) / 1000000u);
        int ready = epoll_wait(poller, events, EVENTS, timeout);
        for (int i = 0; i < ready; i++) {
            struct connection *connection = events[i].data.ptr;
            if (connection->listens) accept_all(connection->fd);
            else if (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) close_connection(connection);
            else readable(connection);
        }
        answer_delayed();
    }
}
