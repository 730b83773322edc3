/* How the references store: one row for an event, one for each of its deliveries; SQLite's WAL, synchronised FULL. */
#ifndef STORE_H
#define STORE_H
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct store {
    sqlite3 *db;
    sqlite3_stmt *begin, *commit, *add_event, *add_delivery, *end_delivery;
};

static inline void store_check(struct store *store, int result) {
    if (result == SQLITE_OK || result == SQLITE_DONE) return;
    fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(store->db));
    exit(1);
}

static inline sqlite3_stmt *store_prepare(struct store *store, const char *sql) {
    sqlite3_stmt *statement = NULL;
    store_check(store, sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL));
    return statement;
}

static inline void store_run(struct store *store, sqlite3_stmt *statement) {
    store_check(store, sqlite3_step(statement));
    sqlite3_reset(statement);
}

static inline void store_open(struct store *store, const char *path) {
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    store_check(store, sqlite3_open_v2(path, &store->db, flags, NULL));
    store_check(store, sqlite3_exec(store->db,
        "PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
        "PRAGMA wal_autocheckpoint=4000; PRAGMA cache_size=-65536;"
        "CREATE TABLE events(id INTEGER PRIMARY KEY, key TEXT NOT NULL, type TEXT NOT NULL, time_ms INTEGER NOT NULL,"
        " body BLOB NOT NULL);"
        "CREATE TABLE deliveries(id INTEGER PRIMARY KEY, event INTEGER NOT NULL, delegate INTEGER NOT NULL,"
        " state INTEGER NOT NULL, attempts INTEGER NOT NULL, due_ms INTEGER NOT NULL);",
        NULL, NULL, NULL));
    store->begin = store_prepare(store, "BEGIN IMMEDIATE");
    store->commit = store_prepare(store, "COMMIT");
    store->add_event = store_prepare(store,
        "INSERT INTO events(key, type, time_ms, body) VALUES (?, 'order.created', ?, ?)");
    store->add_delivery = store_prepare(store,
        "INSERT INTO deliveries(event, delegate, state, attempts, due_ms) VALUES (?, ?, 0, 0, ?)");
    store->end_delivery = store_prepare(store, "UPDATE deliveries SET state = 2, attempts = 1 WHERE id = ?");
}

static inline int64_t store_add_event(struct store *store, const char *key, int64_t time_ms, const void *body,
                                      size_t size) {
    sqlite3_bind_text(store->add_event, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(store->add_event, 2, time_ms);
    sqlite3_bind_blob(store->add_event, 3, body, (int)size, SQLITE_STATIC);
    store_run(store, store->add_event);
    return sqlite3_last_insert_rowid(store->db);
}

static inline int64_t store_add_delivery(struct store *store, int64_t event, int delegate, int64_t time_ms) {
    sqlite3_bind_int64(store->add_delivery, 1, event);
    sqlite3_bind_int(store->add_delivery, 2, delegate);
    sqlite3_bind_int64(store->add_delivery, 3, time_ms);
    store_run(store, store->add_delivery);
    return sqlite3_last_insert_rowid(store->db);
}

static inline void store_end_delivery(struct store *store, int64_t delivery) {
    sqlite3_bind_int64(store->end_delivery, 1, delivery);
    store_run(store, store->end_delivery);
}
#endif
