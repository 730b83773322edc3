// The parts of SQLite that Swift can't call: variadic functions, and callbacks that run inside a statement.
#ifndef HERALD_CSQLITE_H
#define HERALD_CSQLITE_H

#include <sqlite3.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Disables the memory statistics of SQLite, which Herald does not use: they take a lock at each allocation. Call it
// before any other function of SQLite; afterwards it has no effect.
static inline void herald_sqlite_count_no_memory(void) { (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

// sqlite3_db_config is variadic. This also fails if the setting did not change.
static inline int herald_sqlite_configure(sqlite3 *db, int option, int on) {
    int now = -1;
    int result = sqlite3_db_config(db, option, on, &now);
    return result != SQLITE_OK ? result : now == on ? SQLITE_OK : SQLITE_ERROR;
}

// Macros that are expressions, which Swift does not import.
static inline int herald_sqlite_ioerr_fsync(void) { return SQLITE_IOERR_FSYNC; }
static inline int herald_sqlite_ioerr_dir_fsync(void) { return SQLITE_IOERR_DIR_FSYNC; }
static inline int herald_sqlite_cantopen_symlink(void) { return SQLITE_CANTOPEN_SYMLINK; }
// SQLITE_TRANSIENT is a cast of -1 to a function pointer. (SQLITE_STATIC is 0: `nil` in Swift.)
static inline int herald_sqlite_bind_text_copy(sqlite3_stmt *s, int index, const char *text, int count) {
    return sqlite3_bind_text(s, index, text, count, SQLITE_TRANSIENT);
}
static inline int herald_sqlite_bind_blob_copy(sqlite3_stmt *s, int index, const void *bytes, int count) {
    return count == 0 ? sqlite3_bind_zeroblob(s, index, 0) : sqlite3_bind_blob(s, index, bytes, count, SQLITE_TRANSIENT);
}

// The salts of the write-ahead log, 8 bytes. They change when the log restarts.
static inline int herald_sqlite_log_salts(sqlite3 *db, void *salts) {
    sqlite3_file *log = NULL;
    int result = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (result != SQLITE_OK) return result;
    return log && log->pMethods ? log->pMethods->xRead(log, salts, 8, 16) : SQLITE_ERROR;
}

// Of the last system call on the database file that failed; 0 if there was none.
static inline int herald_sqlite_last_errno(sqlite3 *db) {
    int code = 0;
    return sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &code) == SQLITE_OK ? code : 0;
}

// SQLite keeps that error until a read of the file returns less than it should: a read behind the end of the file does, without an
// access to the disk. Not far behind it: some file systems refuse offsets that no file of theirs can have.
static inline void herald_sqlite_forget_errno(sqlite3 *db) {
    sqlite3_file *file = NULL;
    char byte;
    int result = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (result == SQLITE_OK && file && file->pMethods) file->pMethods->xRead(file, &byte, 1, (sqlite3_int64)1 << 40);
}

// The checksum of a write-ahead log, continued over more bytes (https://sqlite.org/fileformat2.html#checksum_algorithm).
// - count: a multiple of 8.
static inline void herald_sqlite_log_checksum(const unsigned char *bytes, int count, int big, unsigned *a, unsigned *b) {
    for (; count >= 8; bytes += 8, count -= 8) {
        unsigned first, second;
        memcpy(&first, bytes, 4);
        memcpy(&second, bytes + 4, 4);
        *a += (big ? __builtin_bswap32(first) : first) + *b;
        *b += (big ? __builtin_bswap32(second) : second) + *a;
    }
}

// Stores the number of pages in the write-ahead log after each commit.
static inline int herald_sqlite_count_pages(void *pages, sqlite3 *db, const char *name, int count) {
    (void)db; (void)name;
    *(int *)pages = count;
    return SQLITE_OK;
}
static inline void herald_sqlite_watch_log(sqlite3 *db, int *pages) {
    sqlite3_wal_hook(db, herald_sqlite_count_pages, pages);
}

// Interrupts a statement that is still running at *deadline (CLOCK_MONOTONIC, nanoseconds).
static inline int herald_sqlite_is_late(void *deadline) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec > *(long long *)deadline;
}
static inline void herald_sqlite_watch_clock(sqlite3 *db, long long *deadline) {
    sqlite3_progress_handler(db, 10000, herald_sqlite_is_late, deadline);
}

// Reserves blocks for a file that is about to be written, without changing its size. System calls, because Swift's Glibc
// lacks both functions. Not all file systems have them: without them the file is written all the same.
static inline void herald_reserve(int file, long long size) {
    (void)syscall(SYS_fallocate, file, 1 /* FALLOC_FL_KEEP_SIZE */, 0LL, size);
}
// Starts to write what is in memory of a file, without waiting.
static inline void herald_begin_writing(int file) {
    (void)syscall(SYS_sync_file_range, file, 0LL, 0LL, 2 /* SYNC_FILE_RANGE_WRITE */);
}

#endif
