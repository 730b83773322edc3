import Glibc
import HeraldModel
import HeraldRuntime
import HeraldSQLite

// The data folder and its disk.
extension Doctor {
    private static let mebibyte: UInt64 = 1 << 20
    /// The server refuses to write when the disk has hardly any space left.
    private static let leastFree = 64 * mebibyte
    /// - Returns: the process that has the folder open.
    mutating func checkFolder() -> String? {
        let path = settings.data
        var status = stat()
        guard stat(path, &status) == 0 else {
            let code = errno
            checkMissing(path, code)
            return nil
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            fail("folder", "\(path) is not a folder", "remove or rename it, or choose another one with --data")
            return nil
        }
        guard checkAccess(path, status) else { return nil }
        let holder = SQLiteStore.holder(ofFolder: path)
        if let holder {
            if HealthCheck.isServed(settings) {
                ok("folder", "\(path) is open in a Herald server, \(holder)")
            } else {
                fail(
                    "folder", "\(path) is in use by \(holder), which does not serve \(settings.listen)",
                    "stop that process, or choose another folder with --data")
            }
        } else {
            ok("folder", "\(path) can be written")
        }
        checkDatabase(in: path)
        checkDisk(path)
        return holder
    }

    private mutating func checkMissing(_ path: String, _ code: Int32) {
        let name = String(path.reversed().drop { $0 == "/" }.reversed())
        let folder = name.lastIndex(of: "/").map { $0 == name.startIndex ? "/" : String(name[..<$0]) } ?? "."
        guard code == ENOENT else {
            return fail(
                "folder", "\(path): \(String(cString: strerror(code)))",
                "let the user of the server reach it, or choose another folder with --data")
        }
        var status = stat()
        guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            return fail("folder", "\(path) cannot be created, because \(folder) is missing", "mkdir -p \(folder)")
        }
        guard access(folder, W_OK | X_OK) == 0 else {
            return fail(
                "folder", "\(path) cannot be created in \(folder): \(String(cString: strerror(errno)))",
                "create it for the user of the server: install -d -m 700 -o \(Self.user(geteuid())) \(path)")
        }
        ok("folder", "\(path) will be created")
        checkDisk(folder)
    }

    /// - Returns: whether the folder can be written.
    private mutating func checkAccess(_ path: String, _ status: stat) -> Bool {
        guard access(path, R_OK | W_OK | X_OK) == 0 else {
            let reason = String(cString: strerror(errno))
            let advice =
                errno == EROFS
                ? "mount the file system for writing, or choose another folder with --data"
                : "chown -R \(Self.user(geteuid())) \(path)"
            fail("folder", "\(path) cannot be written: \(reason)", advice)
            return false
        }
        if status.st_uid != geteuid() {
            let (owner, own) = (Self.user(status.st_uid), Self.user(geteuid()))
            warn(
                "folder", "\(path) belongs to \(owner), and this command runs as \(own)",
                "run the server and this command as \(owner), or: chown -R \(own) \(path)")
        }
        if status.st_mode & (S_IRWXG | S_IRWXO) != 0 {
            warn("folder", "other users can enter \(path), which has all events", "chmod 700 \(path)")
        }
        return true
    }

    static func user(_ id: uid_t) -> String {
        getpwuid(id)?.pointee.pw_name.map { String(cString: $0) } ?? String(id)
    }

    private mutating func checkDisk(_ folder: String) {
        checkFileSystem(folder)
        checkSpace(folder)
        checkFlush(folder)
    }

    private mutating func checkFileSystem(_ folder: String) {
        guard let type = FileSystem.type(of: folder) else { return }
        if FileSystem.inMemory.contains(type) {
            warn(
                "disk", "\(folder) is in memory (\(type)): a restart of the machine loses all events",
                "choose a folder on a disk with --data")
        } else if FileSystem.remote.contains(type) {
            warn(
                "disk", "\(folder) is on a network file system (\(type)), which may lose locks and flushes",
                "choose a folder on a local disk with --data, or a database with --store")
        }
    }

    private mutating func checkSpace(_ folder: String) {
        var system = statvfs()
        guard statvfs(folder, &system) == 0 else {
            return fail("disk", "\(folder): \(String(cString: strerror(errno)))", "choose another folder with --data")
        }
        let free = UInt64(system.f_bavail) * UInt64(system.f_frsize)
        func text(_ bytes: UInt64) -> String {
            bytes >= 10 << 30 ? "\(bytes >> 30)GiB" : "\(bytes / Self.mebibyte)MiB"
        }
        guard free >= Self.leastFree else {
            return fail(
                "disk", "\(text(free)) are free on the disk of \(folder)",
                "free some space, or choose a folder on another disk with --data")
        }
        let used = ["herald.db", "herald.db-wal"].reduce(UInt64(0)) { sum, name in
            var status = stat()
            return stat("\(folder)/\(name)", &status) == 0 ? sum + UInt64(status.st_size) : sum
        }
        let (events, attempts) = (settings.retention.bytes, settings.retention.attemptBytes)
        guard let events, let attempts, events.addingReportingOverflow(attempts).overflow == false,
            UInt64(events + attempts) <= free + used
        else {
            return warn(
                "disk", "\(text(free)) are free, less than the retention may take: the disk can become full",
                "set \(Self.retention(fitting: free + used)), or choose a larger disk with --data")
        }
        ok("disk", "\(text(free)) are free; the retention takes \(text(UInt64(events + attempts))) at most")
    }

    /// The settings of a retention for a disk of this size, in bytes: nine tenths, of which a sixth is for attempts.
    static func retention(fitting bytes: UInt64) -> String {
        let sixth = bytes / 10 * 9 / mebibyte / 6
        // The settings have a smallest size, and a largest number of a unit.
        func text(_ size: UInt64) -> String { size >= 10 << 10 ? "\(size >> 10)GiB" : "\(max(16, size))MiB" }
        return "--retention-size \(text(sixth * 5)) --retention-attempts-size \(text(sixth))"
    }

    /// The time that a publication waits for the disk.
    private mutating func checkFlush(_ folder: String) {
        do throws(SystemError) {
            let times = try Self.flushTimes(folder).sorted()
            let middle = times[times.count / 2]
            let text = "a flush takes \(middle / 1_000_000).\(middle / 100_000 % 10) ms"
            if middle > 50_000_000 {
                return warn(
                    "disk", text + ": each publication waits for it",
                    "choose a folder on a faster disk with --data, such as a local SSD")
            }
            ok("disk", text)
        } catch {
            fail(
                "disk", "a file in \(folder) cannot be written and flushed: \(error)",
                "repair the disk, or choose a folder on another one with --data")
        }
    }

    /// Nanoseconds of each flush: up to 15 in two seconds.
    private static func flushTimes(_ folder: String) throws(SystemError) -> [Int64] {
        let path = "\(folder)/.herald-doctor-\(getpid())"
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        let file = Int32(try systemCall("open") { Int(open(path, flags, 0o600)) })
        unlink(path)
        defer { close(file) }
        let page = [UInt8](repeating: 0, count: 4096)
        let clock = Clock.system
        let begin = clock.monotonic()
        var times: [Int64] = []
        while times.isEmpty || (times.count < 15 && clock.monotonic() - begin < 2_000_000_000) {
            let start = clock.monotonic()
            _ = try systemCall("write") { write(file, page, page.count) }
            _ = try systemCall("fdatasync") { Int(fdatasync(file)) }
            times.append(clock.monotonic() - start)
        }
        return times
    }
}

/// The mounted file systems.
enum FileSystem {
    static let inMemory: Set<String> = ["tmpfs", "ramfs"]
    static let remote: Set<String> = [
        "nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "fuse.glusterfs", "fuse.sshfs",
    ]

    /// The type of the file system that a folder is on, as mount(8) names it; `nil` if it is not known.
    static func type(of folder: String) -> String? {
        guard let resolved = realpath(folder, nil) else { return nil }
        defer { free(resolved) }
        guard let mounts = try? Input.file("/proc/self/mounts") else { return nil }
        return type(of: String(cString: resolved), mounts: String(decoding: mounts, as: UTF8.self))
    }

    /// The last of the longest mount points that the path is in.
    /// - Parameter mounts: in the form of `/proc/self/mounts`.
    static func type(of path: String, mounts: String) -> String? {
        var best: (point: String, type: String)?
        for line in mounts.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 2 else { continue }
            let point = fields[1].replaced("\\040", by: " ")
            let isInside = path == point || point == "/" || path.hasPrefix(point + "/")
            if isInside, point.utf8.count >= best?.point.utf8.count ?? 0 { best = (point, String(fields[2])) }
        }
        return best?.type
    }
}
