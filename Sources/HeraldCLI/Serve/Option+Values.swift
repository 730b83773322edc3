import Glibc
import HeraldAPI
import HeraldCrypto
import HeraldRuntime
import HeraldWebhooks

/// The forms of the values of settings: lists, networks, durations, sizes.
extension Option {
    static func list(_ text: String) -> [String] {
        text.split(separator: ",").map { String(trimmed($0)) }.filter { !$0.isEmpty }
    }

    /// Without spaces at both ends.
    static func trimmed(_ text: Substring) -> Substring { text.trimmed { $0 == " " } }

    /// A name or an address as the `Host` of a request has it, but without the port.
    static func isHost(_ text: String) -> Bool {
        let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
        if bare.contains(":") { return IPAddress(bare) != nil }
        return bare == text && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ".-_".contains($0)) }
    }

    static func publicURL(_ text: String) throws(Disallowed) -> PublicURL {
        let form = "an http or https URL without query and fragment, such as https://example.com/herald"
        let url: CallbackURL
        do throws(CallbackURLError) {
            url = try CallbackURL(text)
        } catch {
            let words = error == .userInformation ? "must not contain a user name or password" : "\(error)"
            throw Disallowed(allowed: "\(form): it \(words)")
        }
        if text.contains("?") { throw Disallowed(allowed: "\(form): it must not contain a query") }
        // A semicolon would end the path of a cookie.
        if text.contains(";") { throw Disallowed(allowed: "\(form): it must not contain a semicolon") }
        return PublicURL(url.text)
    }

    /// The value of a text.
    /// - Throws: the description of the valid texts, if there is no value.
    static func valid<Value>(_ value: Value?, _ allowed: String) throws(Disallowed) -> Value {
        guard let value else { throw Disallowed(allowed: allowed) }
        return value
    }

    static func flag(_ text: String) throws(Disallowed) -> Bool { try valid(Bool(text), "true or false") }

    static func file(_ text: String) throws(Disallowed) -> String {
        try valid(text.isEmpty ? nil : text, "the path of a file")
    }

    static func readable(_ file: String) throws(Disallowed) -> String {
        guard access(file, R_OK) == 0 else { throw Disallowed(allowed: "a file that can be read (\(reason))") }
        return file
    }

    /// Refuses a file with a key that cannot be read, or that other users may read.
    static func checkSecrecy(of file: String) throws(Disallowed) {
        _ = try readable(file)
        guard let problem = SecretFile.problem(file) else { return }
        throw Disallowed(allowed: "readable by its owner only; \(problem)")
    }

    /// A folder in which files are made, listed and removed.
    static func writable(_ folder: String) throws(Disallowed) -> String {
        guard access(folder, R_OK | W_OK | X_OK) == 0 else {
            throw Disallowed(allowed: "a folder that can be read and written (\(reason))")
        }
        return folder
    }

    /// The error of the last system call: a sandbox may refuse what the permissions allow.
    private static var reason: String { String(cString: strerror(errno)) }

    static func hosts(_ text: String) throws(Disallowed) -> [HostRule] {
        try list(text).map { entry throws(Disallowed) in
            try valid(
                HostRule(entry),
                "host names separated by commas, such as hooks.example or *.example (\"\(entry)\" is none)")
        }
    }

    /// A list that has all addresses would let each client choose its own.
    static func proxyNetworks(_ text: String) throws(Disallowed) -> [NetworkRule] {
        let rules = try networks(text)
        if let wrong = rules.first(where: { $0.port != nil || $0.prefixLength == 0 }) {
            throw Disallowed(
                allowed: "addresses or networks of proxies, without ports, such as 10.0.0.5,10.1.0.0/16 (\"\(wrong)\" "
                    + (wrong.port == nil ? "is all addresses)" : "has a port)"))
        }
        return rules
    }

    static func networks(_ text: String) throws(Disallowed) -> [NetworkRule] {
        try list(text).map { entry throws(Disallowed) in
            do throws(NetworkRuleError) {
                return try NetworkRule(parsing: entry)
            } catch {
                throw Disallowed(allowed: "networks separated by commas (\(error))")
            }
        }
    }

    static func key(_ text: String) throws(Disallowed) -> MasterKey {
        try valid(try? MasterKey(text: text), "32 bytes in base64, as `openssl rand -base64 32` prints them")
    }

    private static let sizeUnits: [(name: String, bytes: Int64)] = [
        ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20),
    ]

    /// In the form of the setting.
    static func describe(duration milliseconds: Int64?) -> String {
        milliseconds.map(DurationText.text) ?? "forever"
    }

    /// In the form of the setting: in the largest unit that divides it.
    static func describe(size bytes: Int64?) -> String {
        guard let bytes else { return "unlimited" }
        let unit = sizeUnits.first { bytes % $0.bytes == 0 }
        return unit.map { "\(bytes / $0.bytes)\($0.name)" } ?? "\(bytes)B"
    }

    /// Milliseconds; `nil` for forever.
    static func duration(_ text: String) throws(Disallowed) -> Int64? {
        if text == "forever" { return nil }
        guard let duration = DurationText.milliseconds(text), duration >= 60_000 else {
            throw Disallowed(allowed: "at least 1m, a number with m, h or d, such as 7d, or forever")
        }
        return duration
    }

    /// Bytes; `nil` for no limit.
    static func size(_ text: String) throws(Disallowed) -> Int64? {
        if text == "unlimited" { return nil }
        guard let bytes = bytes(text), bytes >= 16 << 20 else {
            throw Disallowed(allowed: "at least 16MiB, in MiB, GiB or TiB, such as 10GiB, or unlimited")
        }
        return bytes
    }

    static func bytes(_ text: String) -> Int64? {
        guard let unit = sizeUnits.first(where: { text.hasSuffix($0.name) }), let number = Int64(text.dropLast(3)),
            (1...1_000_000).contains(number)
        else { return nil }
        return number * unit.bytes
    }

    static func number(_ text: String, _ range: ClosedRange<Int>) throws(Disallowed) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw Disallowed(allowed: "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
