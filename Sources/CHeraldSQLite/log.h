// SQLite writes each page of its write-ahead log in two calls, a head of 24 bytes and the page. Here a VFS gathers what
// follows on each other, and writes it in one call before SQLite looks at the file or flushes it: a transaction then takes one
// `pwrite` instead of a dozen or more.
//
// Of all files only logs go through here. What is gathered was not written as far as anybody else can tell, so this is
// for a connection that flushes at each commit (synchronous=FULL), before readers hear of it. When the one call fails,
// who flushes is told, and the transaction has failed.
#ifndef HERALD_CSQLITE_LOG_H
#define HERALD_CSQLITE_LOG_H

#include <sqlite3.h>
#include <string.h>

typedef struct herald_log {
    sqlite3_file base;
    // `count` bytes at `start` of the file are still to be written. Allocated when first needed.
    unsigned char *gathered;
    sqlite3_int64 start;
    int count;
    // The file of the system's VFS follows.
} herald_log;

// 31 pages with their heads. SQLite never writes more than a page at once, and its VFS for Unix takes 17 bits of a count.
enum { HERALD_LOG_GATHERED = 31 * (4096 + 24) };

static inline sqlite3_file *herald_log_file(sqlite3_file *file) { return (sqlite3_file *)((herald_log *)file + 1); }

static inline int herald_log_flush(sqlite3_file *file) {
    herald_log *log = (herald_log *)file;
    if (log->count == 0) return SQLITE_OK;
    int count = log->count;
    // Also when it fails: the transaction that wrote this is rolled back then.
    log->count = 0;
    file = herald_log_file(file);
    return file->pMethods->xWrite(file, log->gathered, count, log->start);
}

static inline int herald_log_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    herald_log *log = (herald_log *)file;
    if (log->count > 0 && (offset != log->start + log->count || count > HERALD_LOG_GATHERED - log->count)) {
        int result = herald_log_flush(file);
        if (result != SQLITE_OK) return result;
    }
    if (!log->gathered) log->gathered = sqlite3_malloc(HERALD_LOG_GATHERED);
    if (!log->gathered || count > HERALD_LOG_GATHERED) {
        file = herald_log_file(file);
        return file->pMethods->xWrite(file, bytes, count, offset);
    }
    if (log->count == 0) log->start = offset;
    memcpy(log->gathered + log->count, bytes, (size_t)count);
    log->count += count;
    return SQLITE_OK;
}

// Everything else first writes what was gathered, then does what it says.
#define HERALD_LOG_METHOD(name, parameters, method, ...) \
    static inline int herald_log_##name parameters { \
        int result = herald_log_flush(file); \
        file = herald_log_file(file); \
        return result != SQLITE_OK ? result : file->pMethods->method(__VA_ARGS__); \
    }
HERALD_LOG_METHOD(read, (sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset), xRead, file, bytes, count, offset)
HERALD_LOG_METHOD(truncate, (sqlite3_file *file, sqlite3_int64 size), xTruncate, file, size)
HERALD_LOG_METHOD(sync, (sqlite3_file *file, int flags), xSync, file, flags)
HERALD_LOG_METHOD(size, (sqlite3_file *file, sqlite3_int64 *size), xFileSize, file, size)
HERALD_LOG_METHOD(lock, (sqlite3_file *file, int level), xLock, file, level)
HERALD_LOG_METHOD(unlock, (sqlite3_file *file, int level), xUnlock, file, level)
HERALD_LOG_METHOD(reserved, (sqlite3_file *file, int *is), xCheckReservedLock, file, is)
HERALD_LOG_METHOD(control, (sqlite3_file *file, int what, void *value), xFileControl, file, what, value)
#undef HERALD_LOG_METHOD

static inline int herald_log_sector_size(sqlite3_file *file) {
    file = herald_log_file(file);
    return file->pMethods->xSectorSize(file);
}

static inline int herald_log_characteristics(sqlite3_file *file) {
    file = herald_log_file(file);
    return file->pMethods->xDeviceCharacteristics(file);
}

static inline int herald_log_close(sqlite3_file *file) {
    int result = herald_log_flush(file);
    sqlite3_free(((herald_log *)file)->gathered);
    file = herald_log_file(file);
    int closed = file->pMethods->xClose(file);
    return result != SQLITE_OK ? result : closed;
}

static inline int herald_log_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *found) {
    static const sqlite3_io_methods methods = {
        .iVersion = 1, .xClose = herald_log_close, .xRead = herald_log_read, .xWrite = herald_log_write,
        .xTruncate = herald_log_truncate, .xSync = herald_log_sync, .xFileSize = herald_log_size,
        .xLock = herald_log_lock, .xUnlock = herald_log_unlock, .xCheckReservedLock = herald_log_reserved,
        .xFileControl = herald_log_control, .xSectorSize = herald_log_sector_size,
        .xDeviceCharacteristics = herald_log_characteristics };
    sqlite3_vfs *system = vfs->pAppData;
    if (!(flags & SQLITE_OPEN_WAL)) return system->xOpen(system, name, file, flags, found);
    memset(file, 0, sizeof(herald_log));
    int result = system->xOpen(system, name, herald_log_file(file), flags, found);
    if (result == SQLITE_OK) file->pMethods = &methods;
    return result;
}

// Registers a VFS that does this, as HERALD_LOG_VFS. Once; opening a connection with it fails when this could not.
#define HERALD_LOG_VFS "herald"
static inline void herald_sqlite_gather_logs(void) {
    static sqlite3_vfs vfs;
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    if (!system || vfs.zName) return;
    vfs = *system;
    vfs.zName = HERALD_LOG_VFS;
    vfs.pNext = NULL;
    vfs.pAppData = system;
    vfs.szOsFile = (int)sizeof(herald_log) + system->szOsFile;
    vfs.xOpen = herald_log_open;
    (void)sqlite3_vfs_register(&vfs, 0);
}

#endif
