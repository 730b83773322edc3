/* The clock, and a histogram of latencies: log-linear, 3 % wide, for one thread. */
#ifndef MEASURE_H
#define MEASURE_H
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { STEPS = 32, BUCKETS = 64 * STEPS };

struct histogram {
    uint64_t count, max;
    uint32_t bucket[BUCKETS];
};

static inline uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline void histogram_add(struct histogram *histogram, uint64_t value) {
    unsigned index = (unsigned)value;
    if (value >= STEPS) {
        unsigned exponent = 63u - (unsigned)__builtin_clzll(value);
        index = (exponent - 4u) * STEPS + (unsigned)((value >> (exponent - 5u)) % STEPS);
    }
    histogram->bucket[index]++;
    histogram->count++;
    if (value > histogram->max) histogram->max = value;
}

/* The value below which this share (0 to 1) lies, in microseconds when nanoseconds were added. */
static inline double histogram_us(const struct histogram *histogram, double share) {
    uint64_t wanted = (uint64_t)(share * (double)histogram->count + 0.5), seen = 0;
    if (histogram->count == 0) return 0;
    for (unsigned index = 0; index < BUCKETS; index++) {
        seen += histogram->bucket[index];
        if (seen == 0 || seen < wanted) continue;
        if (index < STEPS) return index / 1e3;
        unsigned exponent = index / STEPS + 4u;
        return (double)((UINT64_C(1) << exponent) + ((uint64_t)(index % STEPS) << (exponent - 5u))) / 1e3;
    }
    return (double)histogram->max / 1e3;
}

/* As a JSON object of percentiles, in microseconds; returns `text`. */
static inline const char *histogram_json(const struct histogram *histogram, char *text, size_t size) {
    static const double shares[] = { 10, 25, 50, 75, 90, 95, 99, 99.9 };
    size_t end = 0;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        end += (size_t)snprintf(text + end, size - end, "%s\"p%g\":%.1f", i ? "," : "{", shares[i],
                                histogram_us(histogram, shares[i] / 100));
    snprintf(text + end, size - end, ",\"max\":%.1f}", (double)histogram->max / 1e3);
    return text;
}
#endif
