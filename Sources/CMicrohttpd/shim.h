#ifndef HERALD_CMICROHTTPD_H
#define HERALD_CMICROHTTPD_H

#include <microhttpd.h>

#endif
