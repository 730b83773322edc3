import HeraldCrypto

/// A key in a file of its own, as orchestrators mount secrets: its only line.
enum KeyFile {
    /// The form of an access key chosen by an operator: long enough not to be guessed, and valid in a header.
    static func isKey(_ text: String) -> Bool {
        (20...255).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// - Throws: if the file can't be read, or does not contain a key.
    static func read(_ path: String) throws(CommandError) -> String {
        let text = String(decoding: try Input.file(path), as: UTF8.self)
        let line = String(text.prefix { !$0.isNewline })
        guard isKey(line), text.dropFirst(line.count).allSatisfy(\.isNewline) else {
            throw CommandError(
                description: "\(path) must have one line: an access key of 20 to 255 visible ASCII characters.",
                exitCode: ExitCode.data)
        }
        return line
    }

    static let masterKeyWords = "a file with one line, 32 bytes in base64, as `openssl rand -base64 32` prints them"

    /// `nil` unless the file contains a master key.
    static func masterKey(_ path: String) -> MasterKey? {
        (try? read(path)).flatMap { try? MasterKey(text: $0) }
    }
}
