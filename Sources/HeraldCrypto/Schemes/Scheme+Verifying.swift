extension Scheme {
    /// The maximum age of a signature in seconds: that of Standard Webhooks, Stripe and Slack.
    private static let maxAge: Int64 = 300

    /// Whether a received message was signed with one of the keys.
    ///
    /// Signatures are compared in constant time. The time is examined only if it is signed. The search for the reason why no
    /// signature matches costs as much as verifying the body about forty times for each key.
    /// - Parameters:
    ///   - body: byte for byte as received.
    ///   - url: the URL that the sender has, for schemes that sign it.
    ///   - form: the decoded fields, for schemes that sign them.
    ///   - header: the value of the header with this name, in lower case.
    ///   - keys: one that matches is enough; for Ed25519 the public keys.
    ///   - now: seconds since 1970.
    package func verify(
        body: [UInt8], url: String = "", form: [(name: String, value: String)] = [], header: (String) -> String?,
        keys: [[UInt8]], now: Int64
    ) throws(CryptoError) -> SchemeVerdict {
        let check = try SchemeCheck(self)
        let received: SchemeCheck.Received
        do throws(SchemeCheck.Failure) {
            received = try check.read(header)
        } catch {
            return error.verdict
        }
        let content = SchemeContent(
            id: received.id, timestamp: received.timestamp, body: body, url: url, form: form)
        for key in keys where try check.isRight(received.signatures, content, key) {
            guard let sentAt = received.sentAt else { return .verified }
            let age = now - sentAt
            return abs(age) <= Self.maxAge ? .verified : .stale(seconds: age, limit: Self.maxAge)
        }
        return .forged(try check.explanation(received.signatures, content, keys))
    }
}

/// A scheme that is prepared for verification.
struct SchemeCheck {
    let scheme: Scheme
    private let content: SchemePattern
    private let value: SchemePattern

    init(_ scheme: Scheme) throws(CryptoError) {
        self.scheme = scheme
        (content, value) = try scheme.patterns()
    }

    // MARK: Headers

    /// The values in the headers of a message.
    struct Received {
        var id = ""
        /// As received.
        var timestamp = ""
        /// Seconds since 1970; `nil` if the time is not signed.
        var sentAt: Int64?
        var signatures: [String] = []
    }

    struct Failure: Error {
        let verdict: SchemeVerdict
    }

    func read(_ header: (String) -> String?) throws(Failure) -> Received {
        func required(_ name: String) throws(Failure) -> String {
            guard let value = header(name.lowercased()), !value.isEmpty else {
                throw Failure(verdict: .missing(header: name))
            }
            return value
        }
        var received = Received()
        // The order in which Standard Webhooks names them.
        if let name = scheme.idHeader { received.id = try required(name) }
        var timestampHeader = scheme.header
        if let name = scheme.timestampHeader {
            received.timestamp = try required(name)
            timestampHeader = name
        }
        try readValue(required(scheme.header), &received)
        if content.contains(.timestamp) {
            guard let sentAt = Self.seconds(received.timestamp) else {
                throw Failure(verdict: .malformed(header: timestampHeader, expected: "a time in seconds since 1970"))
            }
            received.sentAt = sentAt
        }
        return received
    }

    private func readValue(_ text: String, _ received: inout Received) throws(Failure) {
        let list = value.list
        let patterns = list?.entries ?? [value]
        let pieces = list.map { text.split(separator: Character(Unicode.Scalar($0.separator))) } ?? [text[...]]
        for piece in pieces.map(Self.trimmed) {
            var match: [SchemePattern.Placeholder: Substring]?
            for pattern in patterns where match == nil { match = pattern.match(piece) }
            guard let found = match else { continue }
            if let signature = found[.signature] { received.signatures.append(String(signature)) }
            if let time = found[.timestamp], received.timestamp.isEmpty { received.timestamp = String(time) }
            if let id = found[.id], received.id.isEmpty { received.id = String(id) }
        }
        guard received.signatures.contains(where: { !$0.isEmpty }) else {
            throw Failure(verdict: .malformed(header: scheme.header, expected: "like \(scheme.value)"))
        }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " }
        while text.last == " " { text.removeLast() }
        return text
    }

    /// 1 to 12 digits: the year 33658 is far enough, and sums do not overflow.
    private static func seconds(_ text: String) -> Int64? {
        guard (1...12).contains(text.utf8.count),
            text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
        else { return nil }
        return Int64(text)
    }

    // MARK: Signatures

    /// Whether one of the signatures of this content was made with the key.
    func isRight(_ signatures: [String], _ content: SchemeContent, _ key: [UInt8]) throws(CryptoError) -> Bool {
        try isRight(signatures.compactMap(bytes), content, key)
    }

    /// The bytes of a signature; `nil` if it isn't written as the scheme says.
    func bytes(_ signature: String) -> [UInt8]? {
        scheme.algorithm == .token ? Array(signature.utf8) : scheme.encoding.decode(signature)
    }

    func isRight(_ signatures: [[UInt8]], _ content: SchemeContent, _ key: [UInt8]) throws(CryptoError) -> Bool {
        guard !signatures.isEmpty, !key.isEmpty else { return false }
        if let hash = scheme.algorithm.hash {
            let code = try content.code(of: self.content, with: try HMAC(hash, key: key))
            return signatures.contains { isEqualInConstantTime($0, code) }
        }
        guard scheme.algorithm == .ed25519 else { return signatures.contains { isEqualInConstantTime($0, key) } }
        guard let key = try? Ed25519.PublicKey(bytes: key) else { return false }
        let text = content.text(of: self.content)
        return signatures.contains { key.verifies($0, of: text) }
    }

    var signsURL: Bool { content.contains(.url) }
    var signsBody: Bool { content.contains(.body) }
}
