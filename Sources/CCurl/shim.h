#ifndef HERALD_CCURL_H
#define HERALD_CCURL_H

#include <curl/curl.h>

#endif
