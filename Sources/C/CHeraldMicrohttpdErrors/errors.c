#define _GNU_SOURCE
#include "CHeraldMicrohttpdErrors.h"

#include <dlfcn.h>
#include <string.h>
#include <strings.h>

// Symbols for the dynamic linker must stay, although nothing here uses them.
#define FOUND_BY_NAME __attribute__((visibility("default"), used, retain))

typedef enum MHD_Result (*queue_function)(struct MHD_Connection *, unsigned, struct MHD_Response *);
typedef enum MHD_Result (*lookup_function)(struct MHD_Connection *, enum MHD_ValueKind, const char *, size_t,
                                           const char **, size_t *);

// The library's own function, found before `main`.
static queue_function library_queue;
static lookup_function library_lookup;

__attribute__((constructor)) static void find_functions(void) {
    library_queue = (queue_function)dlsym(RTLD_NEXT, "MHD_queue_response");
    library_lookup = (lookup_function)dlsym(RTLD_NEXT, "MHD_lookup_connection_value_n");
}

// The handler of the daemon that this thread runs. NULL outside `herald_mhd_run`: then the caller is another user of
// the library in this process.
static _Thread_local herald_mhd_error_handler current_handler;
static _Thread_local herald_mhd_read_handler current_reader;
static _Thread_local void *current_owner;

void herald_mhd_run(struct MHD_Daemon *daemon, void *owner, herald_mhd_error_handler handler,
                    herald_mhd_read_handler reader) {
    current_owner = owner;
    current_reader = reader;
    current_handler = handler;
    (void)MHD_run(daemon);
    current_handler = NULL;
    current_reader = NULL;
    current_owner = NULL;
}

void herald_mhd_show(int descriptor, const void *bytes, size_t count) {
    if (current_reader) current_reader(current_owner, descriptor, bytes, count);
}

int herald_mhd_runs(void) { return current_handler != NULL; }

int herald_mhd_queue(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response) {
    enum MHD_Result result = library_queue(connection, status, response);
    MHD_destroy_response(response);
    return result == MHD_YES;
}

// Herald queues with the function above, so within a run this call comes from the library. It may write the queued
// response: the handler makes sure that the client does not get it.
FOUND_BY_NAME
enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response) {
    if (current_handler) current_handler(current_owner, connection, status);
    return library_queue(connection, status, response);
}

static int is_space(char byte) { return byte == ' ' || byte == '\t'; }

// The library keeps trailing white space of a value, which is not part of it according to RFC 9110, and uses this
// function to look up the headers that determine a message's length.
FOUND_BY_NAME
enum MHD_Result MHD_lookup_connection_value_n(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                              const char *key, size_t key_size, const char **value,
                                              size_t *value_size) {
    const char *found = NULL;
    size_t size = 0;
    enum MHD_Result result = library_lookup(connection, kind, key, key_size, &found, &size);
    if (result == MHD_YES && found && current_handler && kind == MHD_HEADER_KIND) {
        size_t whole = size;
        while (size > 0 && is_space(found[size - 1])) size--;
        // Without a size, it compares with this word, including the NUL.
        if (size < whole && size == 7 && strncasecmp(found, "chunked", 7) == 0) found = "chunked";
    }
    if (value) *value = found;
    if (value_size) *value_size = size;
    return result;
}
