import Glibc
import HeraldAPI
import HeraldCore
import HeraldModel
import HeraldRuntime
import Synchronization

/// The admin key that a server creates when it starts on a public address without any key. It is shown once: on the
/// terminal, or in a file that only the server's user can read; never in the log, which others can read.
struct BootstrapKey {
    /// Its text, which is not stored; `nil` if it is in the file.
    let text: String?
    /// The file; `nil` if the terminal shows the key.
    let file: String?

    /// Creates a key with the scope `admin`, and waits until it is on disk.
    init(_ hub: Hub, folder: String?, isOnTerminal: Bool) throws {
        let now = hub.clock.wall()
        let key = try KeyText(id: hub.ids.next("key_", time: now))
        if isOnTerminal {
            (text, file) = (key.text, nil)
        } else if let folder {
            (text, file) = (nil, folder + "/admin-key")
        } else {
            throw CommandError(
                "other machines can reach this address, and there is no access key yet. Set HERALD_ADMIN_KEY or "
                    + "--admin-key-file, or --allow-anonymous true to let everyone in.", exitCode: ExitCode.usage)
        }
        // The file comes first: a key whose text is lost would lock everybody out.
        if let file { try Self.write(key.text, to: file) }
        do {
            try Self.add(key, hub, now)
        } catch {
            if let file { unlink(file) }
            throw error
        }
    }

    private static func add(_ text: KeyText, _ hub: Hub, _ now: Int64) throws {
        let key = APIKey(
            id: text.id, name: "Made at the first start", scopes: [.admin], digest: text.digest, createdAt: now)
        let refusal = Mutex<HubError?>(nil)
        let done = Semaphore()
        hub.submit(
            AccessWrite(action: .addKey(key)) { result in
                if case .refused(let reason) = result { refusal.withLock { $0 = reason } }
                done.signal()
            })
        done.wait()
        if let reason = refusal.withLock({ $0 }) { throw reason }
    }

    /// Creates the file for its owner only, and flushes it to disk.
    private static func write(_ text: String, to path: String) throws(CommandError) {
        unlink(path)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw unwritable(path) }
        defer { close(descriptor) }
        let isWritten = Output.write(Array((text + "\n").utf8), to: descriptor) && fsync(descriptor) == 0
        guard isWritten else { throw unwritable(path) }
    }

    private static func unwritable(_ path: String) -> CommandError {
        CommandError(
            "the first admin key cannot be written to \(path): \(String(cString: strerror(errno)))",
            exitCode: ExitCode.cannotCreate)
    }
}
