// The files that are part of the binary: the API description, and the pages of the dashboard.
#ifndef CHERALD_RESOURCES_H
#define CHERALD_RESOURCES_H

#include <stddef.h>

struct herald_resource {
    const char *name;
    // NULL if there is no file with this name.
    const unsigned char *bytes;
    size_t count;
};

struct herald_resource herald_resource_named(const char *name);

#endif
