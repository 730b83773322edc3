import Glibc

/// Files as bytes, for tests that damage them or look at what was left on the disk.
package enum Files {
    package struct Failure: Error {
        package let what: String
    }

    package static func read(_ path: String) throws -> [UInt8] {
        guard let file = fopen(path, "r") else { throw Failure(what: "\(path) can't be read") }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }

    package static func write(_ bytes: [UInt8], to path: String) throws {
        let isNew = !exists(path)
        guard let file = fopen(path, "w") else { throw Failure(what: "\(path) can't be written") }
        defer { fclose(file) }
        // A key that others may read is refused.
        if isNew { fchmod(fileno(file), 0o600) }
        if fwrite(bytes, 1, bytes.count, file) != bytes.count { throw Failure(what: "\(path) can't be written") }
    }

    package static func size(_ path: String) throws -> Int {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Failure(what: "\(path) is not there") }
        return Int(status.st_size)
    }

    package static func names(in folder: String) throws -> [String] {
        guard let stream = opendir(folder) else { throw Failure(what: "\(folder) can't be read") }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    /// Writes zeros until the disk is full.
    package static func fillDisk(_ path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(what: "\(path) can't be written") }
        defer { close(descriptor) }
        // The last bytes too.
        for size in [65_536, 4096, 1] {
            let zeros = [UInt8](repeating: 0, count: size)
            while Glibc.write(descriptor, zeros, size) > 0 {}
        }
        guard errno == ENOSPC else { throw Failure(what: "the disk is not full") }
    }

    package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
