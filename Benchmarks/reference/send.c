/* The least that delivering can cost, in C: libcurl posts the same kind of signed request again and again, and does nothing else.
 *
 *   send PORT SECONDS    to http://127.0.0.1:PORT/hook/1, 64 requests at a time
 *
 * Prints one line of JSON: requests, per second, and microseconds of CPU time for each, after a warm-up of its own.
 */
#define _GNU_SOURCE
#include "measure.h"
#include "sender.h"
#include <signal.h>

enum { MESSAGES = 1024, WARM_UP = 2000, BODY = 1024 };

/* Taken in turns, as many as a service has in its memory at a time. */
static struct message { char key[40], body[BODY]; size_t size; } messages[MESSAGES];
static uint64_t started, ended;
static char url[64];

/* What Herald makes of the 512 bytes that `publish` posts. */
static void make_messages(void) {
    char note[256];
    memset(note, 'x', sizeof note);
    for (int i = 0; i < MESSAGES; i++) {
        snprintf(messages[i].key, sizeof messages[i].key, "evt_%026d", i);
        messages[i].size = (size_t)snprintf(messages[i].body, BODY,
            "{\"type\":\"order.created\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"data\":{"
            "\"benchmark_id\":%20d,\"sent_ns\":%20d,"
            "\"order\":\"A-1001\",\"amount\":1299,\"currency\":\"EUR\",\"paid\":true,"
            "\"items\":[{\"sku\":\"X1\",\"quantity\":2},{\"sku\":\"Y2\",\"quantity\":1}],\"note\":\"%.241s\"},"
            "\"subject\":\"customer-17\"}", i + 1, 0, note);
    }
}

/* User and system time of the process. */
static double cpu_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void start_all(void) {
    while (idle) {
        struct message *message = &messages[started++ % MESSAGES];
        sender_start(url, message->key, message->body, message->size, message);
    }
}

static void turn(void) {
    long status;
    start_all();
    sender_wait(-1);
    while (sender_ended(&status)) {
        if (status != 204) {
            fprintf(stderr, "send: a request was answered %ld\n", status);
            exit(1);
        }
        ended++;
    }
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: send PORT SECONDS\n");
        return 64;
    }
    signal(SIGPIPE, SIG_IGN);
    snprintf(url, sizeof url, "http://127.0.0.1:%s/hook/1", argv[1]);
    make_messages();
    sender_open(-1);
    while (ended < WARM_UP) turn();
    uint64_t count = ended, start = now_ns(), end = start + (uint64_t)(atof(argv[2]) * 1e9);
    double cpu = cpu_us();
    while (now_ns() < end) turn();
    double seconds = (double)(now_ns() - start) / 1e9;
    cpu = cpu_us() - cpu;
    count = ended - count;
    printf("{\"requests\":%llu,\"per_s\":%.1f,\"cpu_us\":%.3f}\n",
           (unsigned long long)count, (double)count / seconds, cpu / (double)count);
    return 0;
}
