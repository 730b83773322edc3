// XXH3, a fast 64-bit hash that detects damage (not attacks). It is compiled in: there is no library to link.
#ifndef HERALD_CXXHASH_H
#define HERALD_CXXHASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

// Hashes one part, continuing from the hash of the preceding parts.
static inline uint64_t herald_hash(const void *bytes, size_t count, uint64_t before) {
    return XXH3_64bits_withSeed(bytes, count, before);
}

#endif
