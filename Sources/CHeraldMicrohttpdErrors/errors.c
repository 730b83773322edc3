#define _GNU_SOURCE
#include "CHeraldMicrohttpdErrors.h"

#include <dlfcn.h>
#include <string.h>
#include <strings.h>

// What the dynamic linker is to find must stay, though nothing here calls it.
#define FOUND_BY_NAME __attribute__((visibility("default"), used, retain))

typedef enum MHD_Result (*queue_function)(struct MHD_Connection *, unsigned, struct MHD_Response *);
typedef enum MHD_Result (*lookup_function)(struct MHD_Connection *, enum MHD_ValueKind, const char *, size_t,
                                           const char **, size_t *);

// The library's own, found before `main`.
static queue_function library_queue;
static lookup_function library_lookup;

__attribute__((constructor)) static void find_functions(void) {
    library_queue = (queue_function)dlsym(RTLD_NEXT, "MHD_queue_response");
    library_lookup = (lookup_function)dlsym(RTLD_NEXT, "MHD_lookup_connection_value_n");
}

// Whose daemon this thread runs. NULL outside `herald_mhd_run`: then a caller is another user of the library in this
// process, and none of our business.
static _Thread_local herald_mhd_error_handler current_handler;
static _Thread_local void *current_owner;

void herald_mhd_run(struct MHD_Daemon *daemon, void *owner, herald_mhd_error_handler handler) {
    current_owner = owner;
    current_handler = handler;
    (void)MHD_run(daemon);
    current_handler = NULL;
    current_owner = NULL;
}

int herald_mhd_queue(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response) {
    enum MHD_Result result = library_queue(connection, status, response);
    MHD_destroy_response(response);
    return result == MHD_YES;
}

// We queue by the function above, so within a run this call is the library's. What it has queued it may go on to write:
// the handler sees to it that the client doesn't get it.
FOUND_BY_NAME
enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response) {
    if (current_handler) current_handler(current_owner, connection, status);
    return library_queue(connection, status, response);
}

static int is_space(char byte) { return byte == ' ' || byte == '\t'; }

// The library keeps the white space behind a value, which RFC 9110 says is no part of it, and looks up by this function what
// a message's length depends on.
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
        // Where it does not ask for the size it compares with this word, up to the NUL.
        if (size < whole && size == 7 && strncasecmp(found, "chunked", 7) == 0) found = "chunked";
    }
    if (value) *value = found;
    if (value_size) *value_size = size;
    return result;
}
