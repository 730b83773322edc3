/// The supported values of `format`.
package enum Format: String, CaseIterable, Sendable {
    /// RFC 3339, including leap seconds.
    case dateTime = "date-time"
    case date
    /// With an offset from UTC, as in RFC 3339.
    case time
    /// A mailbox of RFC 5321 in ASCII, without comments.
    case email
    /// RFC 3986, with a scheme.
    case uri
    /// RFC 3986, with or without a scheme.
    case uriReference = "uri-reference"
    /// RFC 1123, in ASCII.
    case hostname
    /// RFC 3339, appendix A: `P1Y2M3DT4H5M6S`, or weeks.
    case duration
    /// Any version.
    case uuid
    case ipv4
    /// RFC 4291, without a zone.
    case ipv6

    var words: String {
        switch self {
        case .dateTime: "a date and time such as 2026-01-31T12:00:00Z"
        case .date: "a date such as 2026-01-31"
        case .time: "a time such as 12:00:00Z"
        case .email: "an e-mail address"
        case .uri: "an absolute URI"
        case .uriReference: "a URI or a relative reference"
        case .hostname: "a host name"
        case .duration: "a duration such as P1DT12H"
        case .uuid: "a UUID"
        case .ipv4: "an IPv4 address"
        case .ipv6: "an IPv6 address"
        }
    }

    /// Whether a text has this format. Takes time linear in the text.
    package func accepts(_ text: String) -> Bool {
        var reader = FormatReader(text)
        switch self {
        case .dateTime: return reader.date() && reader.skip("Tt") && reader.time() && reader.isAtEnd
        case .date: return reader.date() && reader.isAtEnd
        case .time: return reader.time() && reader.isAtEnd
        case .email: return reader.mailbox()
        case .uri: return reader.uri() && reader.isAtEnd
        case .uriReference: return reader.uriReference()
        case .hostname: return isHostName(reader.rest)
        case .duration: return reader.duration() && reader.isAtEnd
        case .uuid: return reader.uuid() && reader.isAtEnd
        case .ipv4: return reader.ipv4() && reader.isAtEnd
        case .ipv6: return isIPv6(reader.rest)
        }
    }
}

/// Parses a text from left to right. After a function returned `false`, the position is undefined.
struct FormatReader {
    var rest: ArraySlice<UInt8>

    init(_ text: String) { rest = Array(text.utf8)[...] }
    init(_ text: ArraySlice<UInt8>) { rest = text }

    var isAtEnd: Bool { rest.isEmpty }

    /// Consumes one of these characters.
    mutating func skip(_ characters: StaticString) -> Bool {
        guard let first = rest.first, characters.contains(first) else { return false }
        rest.removeFirst()
        return true
    }

    mutating func take(while isWanted: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let taken = rest.prefix(while: isWanted)
        rest = rest.dropFirst(taken.count)
        return taken
    }

    /// A number of exactly this many digits.
    mutating func number(digits: Int) -> Int? {
        let taken = rest.prefix(digits)
        guard taken.count == digits, taken.allSatisfy(isDigit) else { return nil }
        rest = rest.dropFirst(digits)
        return taken.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    // MARK: RFC 3339

    mutating func date() -> Bool {
        guard let year = number(digits: 4), skip("-"), let month = number(digits: 2), skip("-"),
            let day = number(digits: 2), 1...12 ~= month
        else { return false }
        return 1...Timestamp.days(inMonth: Int64(month), of: Int64(year)) ~= Int64(day)
    }

    mutating func time() -> Bool {
        guard let hour = number(digits: 2), skip(":"), let minute = number(digits: 2), skip(":"),
            let second = number(digits: 2), hour < 24, minute < 60, second <= 60
        else { return false }
        if skip("."), take(while: isDigit).isEmpty { return false }
        guard let offset = offset() else { return false }
        // Leap seconds occur only at the end of a day in UTC.
        return second < 60 || (hour * 60 + minute - offset + 1440) % 1440 == 1439
    }

    /// Minutes from UTC.
    private mutating func offset() -> Int? {
        if skip("Zz") { return 0 }
        let sign = rest.first == UInt8(ascii: "-") ? -1 : 1
        guard skip("+-"), let hours = number(digits: 2), skip(":"), let minutes = number(digits: 2), hours < 24,
            minutes < 60
        else { return nil }
        return sign * (hours * 60 + minutes)
    }

    /// Units in their order without a gap, or weeks alone.
    mutating func duration() -> Bool {
        guard skip("P") else { return false }
        let date = units("YMD")
        guard let date else { return false }
        if date == 0, rest.last == UInt8(ascii: "W") {
            return !take(while: isDigit).isEmpty && skip("W")
        }
        guard skip("T") else { return date > 0 }
        return units("HMS").map { $0 > 0 } ?? false
    }

    /// Consumes numbers with these units, in their order.
    /// - Returns: how many; `nil` if one is missing between two others.
    private mutating func units(_ letters: StaticString) -> Int? {
        let letters = letters.withUTF8Buffer(Array.init)
        var last: Int?
        var count = 0
        while true {
            let start = rest
            guard !take(while: isDigit).isEmpty, let unit = rest.first, let place = letters.firstIndex(of: unit) else {
                rest = start
                return count
            }
            if let last, place != last + 1 { return nil }
            rest.removeFirst()
            last = place
            count += 1
        }
    }

    // MARK: Others

    mutating func uuid() -> Bool {
        for (index, count) in [8, 4, 4, 4, 12].enumerated() {
            if index > 0, !skip("-") { return false }
            let part = rest.prefix(count)
            guard part.count == count, part.allSatisfy(isHexadecimal) else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    mutating func ipv4() -> Bool {
        for index in 0..<4 {
            if index > 0, !skip(".") { return false }
            let digits = take(while: isDigit)
            guard (1...3).contains(digits.count), digits.count == 1 || digits.first != UInt8(ascii: "0"),
                digits.reduce(0, { $0 * 10 + Int($1 - UInt8(ascii: "0")) }) < 256
            else { return false }
        }
        return true
    }

    mutating func mailbox() -> Bool {
        guard let at = rest.lastIndex(of: UInt8(ascii: "@")) else { return false }
        let (local, domain) = (rest[..<at], rest[(at + 1)...])
        return (1...64).contains(local.count) && (isDotAtom(local) || isQuoted(local)) && isMailDomain(domain)
    }
}

private func isDotAtom(_ text: ArraySlice<UInt8>) -> Bool {
    text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { atom in
        !atom.isEmpty
            && atom.allSatisfy { isLetter($0) || isDigit($0) || ("!#$%&'*+-/=?^_`{|}~" as StaticString).contains($0) }
    }
}

private func isQuoted(_ text: ArraySlice<UInt8>) -> Bool {
    guard text.count >= 2, text.first == UInt8(ascii: "\""), text.last == UInt8(ascii: "\"") else { return false }
    var isEscaped = false
    for byte in text.dropFirst().dropLast() {
        guard 0x20...0x7e ~= byte, isEscaped || byte != UInt8(ascii: "\"") else { return false }
        isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
    }
    return !isEscaped
}

private func isMailDomain(_ text: ArraySlice<UInt8>) -> Bool {
    if text.first == UInt8(ascii: "["), text.last == UInt8(ascii: "]"), text.count > 2 {
        let address = text.dropFirst().dropLast()
        if address.starts(with: "IPv6:".utf8) { return isIPv6(address.dropFirst(5)) }
        var reader = FormatReader(address)
        return reader.ipv4() && reader.isAtEnd
    }
    return isHostName(text)
}

/// Labels of letters, digits and inner hyphens, at most 63 characters each and 253 in all.
func isHostName(_ text: ArraySlice<UInt8>) -> Bool {
    text.count <= 253
        && text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
                && label.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "-") }
        }
}

/// Eight groups; `::` stands for at least one group of zeros, once; the last two may be an IPv4 address.
func isIPv6(_ text: ArraySlice<UInt8>) -> Bool {
    guard let gap = text.indices.dropLast().first(where: { text[$0...].starts(with: "::".utf8) }) else {
        return groupsOfIPv6(text, mayEndAsIPv4: true) == 8
    }
    guard let before = groupsOfIPv6(text[..<gap], mayEndAsIPv4: false),
        let after = groupsOfIPv6(text[(gap + 2)...], mayEndAsIPv4: true)
    else { return false }
    return before + after < 8
}

/// The number of groups of 16 bits; `nil` if they are invalid.
private func groupsOfIPv6(_ text: ArraySlice<UInt8>, mayEndAsIPv4: Bool) -> Int? {
    if text.isEmpty { return 0 }
    var groups = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    var count = 0
    if mayEndAsIPv4, let last = groups.last, last.contains(UInt8(ascii: ".")) {
        var reader = FormatReader(last)
        guard reader.ipv4(), reader.isAtEnd else { return nil }
        groups.removeLast()
        count = 2
    }
    guard groups.allSatisfy({ (1...4).contains($0.count) && $0.allSatisfy(isHexadecimal) }) else { return nil }
    return count + groups.count
}

@inlinable package func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

@inlinable package func isLetter(_ byte: UInt8) -> Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 }

func isHexadecimal(_ byte: UInt8) -> Bool {
    isDigit(byte) || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte | 0x20
}

extension StaticString {
    /// For ASCII characters.
    func contains(_ byte: UInt8) -> Bool { withUTF8Buffer { $0.contains(byte) } }
}
