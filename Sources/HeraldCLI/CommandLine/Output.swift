import Glibc

/// Output of commands: results to standard output, messages to standard error.
enum Output {
    static let isTerminal = isatty(1) == 1

    /// See https://no-color.org.
    static let usesColor = isTerminal && (text(of: "NO_COLOR") ?? "").isEmpty && !isDumb

    /// Whether the terminal understands no control sequences.
    static let isDumb = text(of: "TERM") == "dumb"

    /// The number of columns; `nil` if it is not a terminal.
    static var width: Int? {
        var size = winsize()
        guard isTerminal, ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Whether the reader is known to have closed the output, without writing.
    static var isClosed: Bool {
        var entry = pollfd(fd: 1, events: 0, revents: 0)
        return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLERR) != 0
    }

    static func line(_ text: String) throws(CommandError) { try write(Array((text + "\n").utf8)) }

    /// One JSON document on one line. In JSON, line breaks occur only between tokens, so they can be replaced with
    /// spaces. Other characters that control a terminal are escaped, which they may be in JSON.
    static func line(json: [UInt8]) throws(CommandError) { try write(oneLine(json: json) + [10]) }

    static func oneLine(json: [UInt8]) -> [UInt8] {
        TerminalText.escaped(json.map { $0 == 9 || $0 == 10 || $0 == 13 ? 32 : $0 })
    }

    static func write(_ bytes: [UInt8]) throws(CommandError) {
        guard !write(bytes, to: 1) else { return }
        // A closed reader, as with `| head`, is not an error.
        let problem = errno == EPIPE ? "" : "The output cannot be written: \(String(cString: strerror(errno)))."
        throw CommandError(problem, exitCode: ExitCode.inputOutput)
    }

    /// - Returns: whether all bytes are written; otherwise `errno` has the cause.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                // Another process with the same descriptor made it non-blocking.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&entry, 1, -1)
                continue
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// To standard error, without characters that control a terminal; errors are ignored.
    static func message(_ text: String) { control(text.printable(keepsLines: true)) }

    /// Writes a text with characters that control a terminal. The text must contain no input.
    static func control(_ text: String) {
        var text = text
        _ = text.withUTF8 { Glibc.write(2, $0.baseAddress, $0.count) }
    }

    private static func text(of variable: String) -> String? { getenv(variable).map { String(cString: $0) } }
}

/// Text from outside on a terminal: it must not move the cursor, begin a line, or look like another text.
enum TerminalText {
    /// C0 and C1 controls, line and paragraph separators, and characters that change the direction of writing.
    static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// JSON with escapes for these characters, which occur in strings only. Invalid UTF-8 is replaced.
    /// - Parameter keepsLines: whether line breaks and tabs stay.
    static func escaped(_ json: [UInt8], keepsLines: Bool = false) -> [UInt8] {
        let text = String(decoding: json, as: UTF8.self)
        let escaped = text.escapingControls(keepsLines: keepsLines) { scalar in
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
        return escaped.map { Array($0.utf8) } ?? json
    }
}

extension String {
    /// Without characters that control a terminal.
    /// - Parameter keepsLines: whether line breaks and tabs stay.
    func printable(keepsLines: Bool = false) -> String {
        escapingControls(keepsLines: keepsLines) { "\\u{\(String($0.value, radix: 16))}" } ?? self
    }

    /// `nil` if there are none.
    fileprivate func escapingControls(keepsLines: Bool, _ escape: (Unicode.Scalar) -> String) -> String? {
        func isControl(_ scalar: Unicode.Scalar) -> Bool {
            TerminalText.isControl(scalar) && !(keepsLines && (scalar == "\n" || scalar == "\t"))
        }
        guard unicodeScalars.contains(where: isControl) else { return nil }
        return unicodeScalars.map { isControl($0) ? escape($0) : String($0) }.joined()
    }
}
