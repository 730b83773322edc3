// The part of c-ares that HeraldWebhooks uses to look up names. Wraps its options, enums and structs.
#ifndef HERALD_CCARES_H
#define HERALD_CCARES_H

#include <ares.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

// The error of making a socket for a query, which is closed at once; 0 if it can be made. In C, because the constants of sockets
// belong to another module for Swift when libcurl's headers are imported, too.
static inline int herald_names_socket_error(void) {
    int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0) return errno;
    close(probe);
    return 0;
}

// Called once for each lookup, also if the channel is destroyed. `result` is NULL if there is none.
typedef void (*herald_names_callback)(void *lookup, int status, int timeouts, struct ares_addrinfo *result);

// Reads the configuration of the system. `milliseconds`: until a name server that does not respond is tried again, twice as
// long each time; `tries`: of each name server. NULL if there is no memory.
static inline ares_channel herald_names_open(int milliseconds, int tries) {
    struct ares_options options;
    memset(&options, 0, sizeof options);
    options.timeout = milliseconds;
    options.tries = tries;
    ares_channel channel = NULL;
    int status = ares_init_options(&channel, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES);
    return status == ARES_SUCCESS ? channel : NULL;
}
static inline void herald_names_look_up(ares_channel channel, const char *name, herald_names_callback found, void *lookup) {
    struct ares_addrinfo_hints hints;
    memset(&hints, 0, sizeof hints);
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    ares_getaddrinfo(channel, name, NULL, &hints, found, lookup);
}
// 0: addresses were found; 1: the name has no address; 2: the name servers failed or did not respond; 3: there was no memory.
static inline int herald_names_kind(int status) {
    switch (status) {
    case ARES_SUCCESS: return 0;
    case ARES_ENODATA:
    case ARES_ENOTFOUND:
    case ARES_EBADNAME: return 1;
    case ARES_ENOMEM: return 3;
    default: return 2;
    }
}
static inline int herald_names_timed_out(int status) { return status == ARES_ETIMEOUT; }
// Fills `entries`, which has room for HERALD_NAMES_SOCKETS, with the sockets to wait for, and returns their number.
static const int HERALD_NAMES_SOCKETS = ARES_GETSOCK_MAXNUM;
static inline int herald_names_sockets(ares_channel channel, struct pollfd *entries) {
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    int bits = ares_getsock(channel, sockets, ARES_GETSOCK_MAXNUM), count = 0;
    for (int index = 0; index < ARES_GETSOCK_MAXNUM; index++) {
        short events = 0;
        if (ARES_GETSOCK_READABLE(bits, index)) events |= POLLIN;
        if (ARES_GETSOCK_WRITABLE(bits, index)) events |= POLLOUT;
        if (!events) continue;
        entries[count].fd = sockets[index];
        entries[count].events = events;
        entries[count++].revents = 0;
    }
    return count;
}
static inline void herald_names_ready(ares_channel channel, const struct pollfd *entry) {
    int fails = entry->revents & (POLLERR | POLLHUP);
    ares_process_fd(channel, fails || entry->revents & POLLIN ? entry->fd : ARES_SOCKET_BAD,
                    fails || entry->revents & POLLOUT ? entry->fd : ARES_SOCKET_BAD);
}
static inline void herald_names_expire(ares_channel channel) {
    ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}
// Milliseconds until the channel has to be called; -1 for never.
static inline int herald_names_wait(ares_channel channel) {
    struct timeval time;
    struct timeval *next = ares_timeout(channel, NULL, &time);
    return next ? (int)(next->tv_sec * 1000 + (next->tv_usec + 999) / 1000) : -1;
}

#endif
