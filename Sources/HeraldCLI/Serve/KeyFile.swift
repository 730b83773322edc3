import HeraldCrypto

/// A key in a file of its own, as orchestrators mount secrets: its only line.
enum KeyFile {
    /// The form of an access key chosen by an operator: long enough not to be guessed, and valid in a header.
    static func isKey(_ text: String) -> Bool { isVisible(text, 20...255) }

    private static func isVisible(_ text: String, _ lengths: ClosedRange<Int>) -> Bool {
        lengths.contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// - Throws: if the file can't be read, or does not contain a key.
    static func read(_ path: String) throws(CommandError) -> String {
        try line(path, isValid: isKey, "an access key of 20 to 255 visible ASCII characters")
    }

    /// A token of another service, whose length has other limits.
    /// - Throws: if the file can't be read, or does not contain a token.
    static func token(_ path: String) throws(CommandError) -> String {
        try line(
            path, isValid: { isVisible($0, 1...16_384) }, "a token of 1 to 16,384 visible ASCII characters")
    }

    private static func line(
        _ path: String, isValid: (String) -> Bool, _ words: String
    ) throws(CommandError) -> String {
        let text = String(decoding: try Input.file(path), as: UTF8.self)
        let line = String(text.prefix { !$0.isNewline })
        guard isValid(line), text.dropFirst(line.count).allSatisfy(\.isNewline) else {
            throw CommandError("\(path) must have one line: \(words).", exitCode: ExitCode.data)
        }
        return line
    }

    static let masterKeyWords = "a file with one line, 32 bytes in base64, as `openssl rand -base64 32` prints them"

    /// `nil` unless the file contains a master key.
    static func masterKey(_ path: String) -> MasterKey? {
        (try? read(path)).flatMap { try? MasterKey(text: $0) }
    }
}
