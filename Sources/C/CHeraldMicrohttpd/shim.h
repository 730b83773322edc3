// The parts of libmicrohttpd that Swift can't call: variadic functions, function pointers as options, closed enums. All
// parameters are plain integers, pointers, or one of the two structs below.
#ifndef HERALD_CMICROHTTPD_H
#define HERALD_CMICROHTTPD_H

#include <fcntl.h>
#include <microhttpd.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

// One daemon, and the Swift functions it calls; `owner` is the first argument of each. Must not move while the daemon
// exists.
struct herald_mhd {
    void *owner;
    // Bound, listening, non-blocking; the daemon closes it when it stops. -1 for none: connections are added then.
    int listen_descriptor;
    unsigned connection_limit;
    size_t memory_limit;            // of each connection: header sections, and the read buffer
    const char *chain, *key;        // PEM, for TLS; NULL for none
    const char *priorities;         // of GnuTLS, for TLS
    // Whether this address may connect; 0 closes the connection at once.
    int (*accepts)(void *owner, const struct sockaddr *address, socklen_t length);
    // Returns the `context` argument of the other functions, or NULL.
    void *(*opened)(void *owner, struct MHD_Connection *connection);
    void (*closed)(void *owner, void *context);
    // The request line was read; `target` as it was sent, valid during the call only.
    void (*began)(void *owner, void *context, const char *target);
    // Called with the header section, with each piece of the body (`*size` > 0; must be set to 0 when consumed), and at
    // the end. `target` is cut at '?', so only its address is useful. 0 closes the connection.
    int (*advanced)(void *owner, void *context, const char *method, const char *target, const char *version,
                    const char *data, size_t *size);
    void (*completed)(void *owner, void *context);
};

// Whether the library leaves each part of a header section where it was received (see HeadLayout.swift): before 0.9.77.
// The header does not tell: what is built on Debian 12 runs with the library of Debian 13 as well.
static inline int herald_mhd_tells_layout(void) {
    const char *version = MHD_get_version();
    return strncmp(version, "0.9.7", 5) == 0 && version[5] < '7';
}

struct herald_mhd_field {
    const char *name, *value;
    size_t name_length, value_length;
};

static void *herald_mhd_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

// The callbacks of libmicrohttpd.

static enum MHD_Result herald_mhd_on_accept(void *cls, const struct sockaddr *address, socklen_t length) {
    const struct herald_mhd *mhd = cls;
    return mhd->accepts(mhd->owner, address, length) ? MHD_YES : MHD_NO;
}

static void herald_mhd_on_connection(void *cls, struct MHD_Connection *connection, void **context,
                                     enum MHD_ConnectionNotificationCode code) {
    const struct herald_mhd *mhd = cls;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = mhd->opened(mhd->owner, connection);
    } else if (*context) {
        mhd->closed(mhd->owner, *context);
        *context = NULL;
    }
}

// The query's items are not used. The library would take 64 bytes for each, and send an error response of its own
// without memory. It parses the target in place, directly after this.
static void herald_mhd_hide_query(char *target) {
    char *query = strchr(target, '?');
    if (query) query[1] = 0;
}

// The return value becomes *context in `herald_mhd_on_request`.
static void *herald_mhd_on_target(void *cls, const char *target, struct MHD_Connection *connection) {
    const struct herald_mhd *mhd = cls;
    void *context = herald_mhd_context(connection);
    if (context) mhd->began(mhd->owner, context, target);
    if (herald_mhd_tells_layout()) herald_mhd_hide_query((char *)target);
    return context;
}

static enum MHD_Result herald_mhd_on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                             const char *method, const char *version, const char *data, size_t *size,
                                             void **context) {
    const struct herald_mhd *mhd = cls;
    (void)connection;
    return *context && mhd->advanced(mhd->owner, *context, method, url, version, data, size) ? MHD_YES : MHD_NO;
}

static void herald_mhd_on_completed(void *cls, struct MHD_Connection *connection, void **context,
                                    enum MHD_RequestTerminationCode code) {
    const struct herald_mhd *mhd = cls;
    (void)connection;
    (void)code;
    if (*context) mhd->completed(mhd->owner, *context);
}

// Keeps percent-escapes: the library would turn %2f into '/' and cut at %00 before they could be checked.
static size_t herald_mhd_keep_escapes(void *cls, struct MHD_Connection *connection, char *text) {
    (void)cls;
    (void)connection;
    return strlen(text);
}

// A daemon without a thread of its own, without timeouts, and without log; NULL on failure.
static inline struct MHD_Daemon *herald_mhd_start(struct herald_mhd *mhd) {
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)herald_mhd_on_connection, mhd},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)herald_mhd_on_target, mhd},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)herald_mhd_on_completed, mhd},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)herald_mhd_keep_escapes, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, mhd->connection_limit, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)mhd->memory_limit, NULL},
        // Herald's own rules are stricter, and send one response: the library's 400 for a missing Host has two header
        // sections on the wire. Later versions do not show line endings by the layout, but refuse wrong ones
        // themselves.
        {MHD_OPTION_STRICT_FOR_CLIENT, herald_mhd_tells_layout() ? 0 : 1, NULL},
        {MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)mhd->chain},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)mhd->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)mhd->priorities},
        {MHD_OPTION_END, 0, NULL},
    };
    // With "turbo" a socket is not shut down before `closed` is called, which may still send a response. The library
    // also reads from a new connection before it adds it to its epoll set, which then reports what it missed, including
    // that the client has closed. Over TLS the library has to end the session, and does so only without "turbo".
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (mhd->chain ? MHD_USE_TLS : MHD_USE_TURBO);
    struct MHD_OptionItem listening[] = {{MHD_OPTION_LISTEN_SOCKET, mhd->listen_descriptor, NULL}, {MHD_OPTION_END, 0, NULL}};
    if (mhd->listen_descriptor < 0) {
        flags |= MHD_USE_NO_LISTEN_SOCKET;
        listening[0] = listening[1];
    }
    return MHD_start_daemon(flags, 0, herald_mhd_on_accept, mhd, herald_mhd_on_request, mhd, MHD_OPTION_ARRAY, options,
                            MHD_OPTION_ARRAY, mhd->chain ? tls : tls + 3, MHD_OPTION_ARRAY, listening, MHD_OPTION_END);
}

static inline int herald_mhd_epoll_descriptor(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

// Whether the daemon has work left that no descriptor will report.
static inline int herald_mhd_is_ready(struct MHD_Daemon *daemon) {
    MHD_UNSIGNED_LONG_LONG milliseconds;
    return MHD_get_timeout(daemon, &milliseconds) == MHD_YES && milliseconds == 0;
}

static inline int herald_mhd_descriptor(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

// Takes the socket from a suspended connection, which is in no epoll set, and replaces it with another one: the library
// can then shut down and close that without affecting the client. Returns a descriptor that the caller owns, or -1.
static inline int herald_mhd_detach(struct MHD_Connection *connection, int placeholder) {
    int descriptor = herald_mhd_descriptor(connection);
    int detached = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (detached < 0) return -1;
    if (dup2(placeholder, descriptor) < 0) {
        close(detached);
        return -1;
    }
    (void)fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return detached;
}

static inline const struct sockaddr *herald_mhd_peer(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

struct herald_mhd_fields {
    struct herald_mhd_field *field;
    unsigned count, capacity;
};

static enum MHD_Result herald_mhd_on_field(void *cls, enum MHD_ValueKind kind, const char *name, size_t name_length,
                                           const char *value, size_t value_length) {
    struct herald_mhd_fields *fields = cls;
    (void)kind;
    if (fields->count == fields->capacity) return MHD_NO;
    fields->field[fields->count++] = (struct herald_mhd_field){name, value, name_length, value ? value_length : 0};
    return MHD_YES;
}

// The header fields, in order, at most `capacity`. The pointers are valid until the request completes.
static inline unsigned herald_mhd_read_fields(struct MHD_Connection *connection, struct herald_mhd_field *field,
                                              unsigned capacity) {
    struct herald_mhd_fields fields = {field, 0, capacity};
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, herald_mhd_on_field, &fields);
    return fields.count;
}

// The length of the header section, including its empty line; 0 before it is complete.
static inline size_t herald_mhd_head_size(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}

static enum MHD_Result herald_mhd_on_cookies(void *cls, enum MHD_ValueKind kind, const char *name, size_t name_length,
                                             const char *value, size_t value_length) {
    (void)kind;
    (void)value;
    if (name_length == 6 && strncasecmp(name, "cookie", 6) == 0) *(size_t *)cls += value_length + 1;
    return MHD_YES;
}

// The memory of a complete header section in the connection: its text, a copy of its cookies, and a record for each
// item.
static inline size_t herald_mhd_head_memory(struct MHD_Connection *connection) {
    size_t cookies = 0;
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, herald_mhd_on_cookies, &cookies);
    int items = MHD_get_connection_values(connection, MHD_HEADER_KIND | MHD_COOKIE_KIND | MHD_GET_ARGUMENT_KIND, NULL, NULL);
    return herald_mhd_head_size(connection) + cookies + 64 * (size_t)items;
}

static enum MHD_Result herald_mhd_on_length(void *cls, enum MHD_ValueKind kind, const char *name, size_t name_length,
                                            const char *value, size_t value_length) {
    (void)kind;
    if (name_length != 14 || strncasecmp(name, "content-length", 14) != 0) return MHD_YES;
    size_t digits = 0;
    while (digits < value_length && value[digits] >= '0' && value[digits] <= '9') digits++;
    if (digits < value_length || digits == 0) *(int *)cls = 1;
    return MHD_YES;
}

// Whether there is an invalid Content-Length, in a header section that may be incomplete.
static inline int herald_mhd_has_bad_length(struct MHD_Connection *connection) {
    int result = 0;
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, herald_mhd_on_length, &result);
    return result;
}

// A response with a copy of `body`; NULL without memory.
static inline struct MHD_Response *herald_mhd_response(const void *body, size_t size) {
    return MHD_create_response_from_buffer(size, (void *)body, MHD_RESPMEM_MUST_COPY);
}

// A response with these bytes, which must stay valid until `release` is called with `owner`; NULL without memory, and
// then `release` is never called.
static inline struct MHD_Response *herald_mhd_shared_response(const void *body, size_t size, void *owner,
                                                              MHD_ContentReaderFreeCallback release) {
    return MHD_create_response_from_buffer_with_free_callback_cls(size, (void *)body, release, owner);
}

// A response whose body is returned by `read`, until it returns one of these two. `read` may suspend the connection and
// return 0. `release` is called with `owner` at the end.
static const ssize_t HERALD_MHD_STREAM_END = MHD_CONTENT_READER_END_OF_STREAM;
static const ssize_t HERALD_MHD_STREAM_FAILED = MHD_CONTENT_READER_END_WITH_ERROR;
static inline struct MHD_Response *herald_mhd_stream(void *owner, MHD_ContentReaderCallback read,
                                                     MHD_ContentReaderFreeCallback release) {
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read, owner, release);
}

// The connection's gnutls_session_t, or NULL without TLS.
static inline void *herald_mhd_tls_session(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info ? info->tls_session : NULL;
}

static inline void herald_mhd_add_field(struct MHD_Response *response, const char *name, const char *value) {
    (void)MHD_add_response_header(response, name, value);
}

#endif
