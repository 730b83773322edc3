/// An access key in a file of its own, as orchestrators mount secrets: its only line.
enum KeyFile {
    /// What an access key may look like that somebody chose: too long to be guessed, and fit for a header.
    static func isKey(_ text: String) -> Bool {
        (20...255).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// - Throws: when it can't be read, or has no key.
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
}
