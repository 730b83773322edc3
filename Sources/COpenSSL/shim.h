#ifndef HERALD_COPENSSL_H
#define HERALD_COPENSSL_H

#include <openssl/evp.h>

#endif
