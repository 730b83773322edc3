// XXH3, a fast hash of 64 bits that detects damage (not attacks), compiled in: there is no library to link.
#ifndef HERALD_CXXHASH_H
#define HERALD_CXXHASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

// The hash of a part, continuing that of the parts before it.
static inline uint64_t herald_hash(const void *bytes, size_t count, uint64_t before) {
    return XXH3_64bits_withSeed(bytes, count, before);
}

#endif
