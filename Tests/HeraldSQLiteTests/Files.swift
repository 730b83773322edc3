import Glibc
import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldSQLite

// Whole files, for looking at what a store left on the disk.

func bytes(_ path: String) -> [UInt8]? { try? Files.read(path) }

func write(_ bytes: [UInt8], to path: String) {
    do { try Files.write(bytes, to: path) } catch { Issue.record("\(error)") }
}

/// A connection to a database without anything in it.
func newDatabase(_ path: String) throws(StoreError) -> Connection {
    write([], to: path)
    return try Connection(path: path, .readWrite)
}

/// Whether the text is somewhere in the bytes.
func contains(_ bytes: [UInt8], _ text: String) -> Bool {
    let wanted = Array(text.utf8)
    return bytes.withUnsafeBytes { bytes in
        var rest = bytes[...]
        while rest.count >= wanted.count, let start = UnsafeRawBufferPointer(rebasing: rest).baseAddress,
            let found = memchr(start, Int32(wanted[0]), rest.count - wanted.count + 1)
        {
            if memcmp(found, wanted, wanted.count) == 0 { return true }
            rest = rest.dropFirst(UnsafeRawPointer(found) - start + 1)
        }
        return false
    }
}

func exists(_ path: String) -> Bool { Files.exists(path) }

func permissions(_ path: String) -> UInt32 {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
}

/// Copies the files as a kill of the process now would leave them: the kernel keeps written data.
func copyAsAfterKill(_ from: String, to: String) {
    mkdir(to, 0o700)
    for name in ["herald.db", "herald.db-wal", "herald.lock", "herald.extent"] {
        if let found = bytes("\(from)/\(name)") { write(found, to: "\(to)/\(name)") }
    }
}

/// Makes each write of this process to a file that it has open fail, as on a disk with errors.
func refuseWrites(to path: String) throws {
    var file = stat()
    let found = stat(path, &file)
    try #require(found == 0)
    let readOnly = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(readOnly) }
    for descriptor in try Files.names(in: "/proc/self/fd").compactMap({ Int32($0) }) where descriptor != readOnly {
        var other = stat()
        guard fstat(descriptor, &other) == 0, other.st_dev == file.st_dev, other.st_ino == file.st_ino else { continue }
        let copy = dup2(readOnly, descriptor)
        #expect(copy == descriptor)
    }
}

extension SQLiteStore {
    /// A transaction and what the writer calls after it.
    func commit(_ body: (any StoreTransaction) throws(StoreError) -> Void) throws(StoreError) {
        try transaction(body)
        _ = try checkpointIfDue()
    }
}
