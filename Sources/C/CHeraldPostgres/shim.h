// libpq, and what Swift can't import of it.
#ifndef HERALD_CPOSTGRES_H
#define HERALD_CPOSTGRES_H

#include <libpq-fe.h>
#include <poll.h>

#endif
