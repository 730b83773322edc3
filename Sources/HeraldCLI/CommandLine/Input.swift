import Glibc
import HeraldJSON

/// Input of commands: a literal value, a file, or standard input.
enum Input {
    /// The largest body that a server can be configured to accept.
    static let maxBytes = 16 << 20
    /// Enough for a configuration with thousands of apps, each with a logo.
    private static let maxFileBytes = 256 << 20

    /// The bytes of `@FILE`, of the standard input for `-`, or of the text itself.
    static func bytes(_ text: String) throws(CommandError) -> [UInt8] {
        if text == "-" { return try read(0, "The standard input") }
        guard text.hasPrefix("@") else { return Array(text.utf8) }
        return try file(String(text.dropFirst()))
    }

    static func file(_ path: String) throws(CommandError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(path) }
        defer { close(descriptor) }
        return try read(descriptor, path)
    }

    /// The JSON value of the flag, validated here so that an error has its position.
    static func json(_ text: String, _ name: String) throws(CommandError) -> RawJSON {
        let bytes = try bytes(text)
        _ = try document(bytes, name, maxValues: 200_000)
        return RawJSON(bytes[...])
    }

    static func document(_ bytes: [UInt8], _ name: String, maxValues: Int) throws(CommandError) -> JSONDocument {
        do throws(JSONError) {
            return try JSONDocument(parsing: bytes, limits: JSONLimits(depth: 80, values: maxValues))
        } catch {
            throw CommandError("\(name) is not JSON: \(error).", exitCode: ExitCode.data)
        }
    }

    private static func read(_ descriptor: Int32, _ name: String) throws(CommandError) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(name) }
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
            guard bytes.count <= maxFileBytes else {
                throw CommandError("\(name) is longer than \(maxFileBytes >> 20) MiB.", exitCode: ExitCode.data)
            }
        }
    }

    /// - Returns: the error of the last system call.
    static func unreadable(_ name: String) -> CommandError {
        CommandError("\(name) cannot be read: \(String(cString: strerror(errno))).", exitCode: ExitCode.noInput)
    }
}

extension Invocation {
    /// The JSON value of a flag; `nil` without it.
    func json(_ flag: String) throws(CommandError) -> RawJSON? {
        guard let text = self[flag] else { return nil }
        return try Input.json(text, "--" + flag)
    }
}
