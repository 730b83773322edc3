import Glibc
import Synchronization

/// A folder of its own for one test, gone with the object.
public final class TemporaryFolder: Sendable {
    public let path: String
    private let cleanups = Mutex<[@Sendable () -> Void]>([])

    public init() {
        var template = Array("/tmp/herald-test-XXXXXX".utf8CString)
        // When it fails, the test does, at its first use of the path.
        path = mkdtemp(&template).map { String(cString: $0) } ?? "/nonexistent"
    }

    deinit {
        for cleanup in cleanups.withLock({ $0 }) { cleanup() }
        TemporaryFolder.remove(path)
    }

    /// Something else that is to go with it.
    package func whenRemoved(_ cleanup: @escaping @Sendable () -> Void) { cleanups.withLock { $0.append(cleanup) } }

    /// Makes a file in it and returns its path.
    public func write(_ text: String, to name: String) throws -> String {
        let file = path + "/" + name
        try Files.write(Array(text.utf8), to: file)
        return file
    }

    private static func remove(_ path: String) {
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name != "." && name != ".." {
                    let child = path + "/" + name
                    if entry.pointee.d_type == UInt8(DT_DIR) { remove(child) } else { unlink(child) }
                }
            }
            closedir(folder)
        }
        rmdir(path)
    }
}
