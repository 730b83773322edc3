/// A scheme with its keys, prepared for signing many messages. Used by one thread at a time.
package struct SchemeSigner {
    private enum Key {
        case hmac(HMAC)
        case ed25519(Ed25519.PrivateKey)
        case token(String)
    }

    private let scheme: Scheme
    private let content: SchemePattern
    private let value: SchemePattern
    private let list: SchemePattern.List?
    private let keys: [Key]

    /// - Parameters:
    ///   - scheme: without problems.
    ///   - keys: the newest first, at least one; for Ed25519 the seeds. A value that can hold several signatures gets one for
    ///     each key, any other one that of the newest.
    package init(_ scheme: Scheme, keys: [[UInt8]]) throws(CryptoError) {
        (content, value) = try scheme.patterns()
        guard let newest = keys.first else { throw .invalidKey("is missing") }
        self.scheme = scheme
        list = value.list
        var prepared: [Key] = []
        for key in list == nil ? [newest] : keys { prepared.append(try Self.key(key, scheme.algorithm)) }
        self.keys = prepared
    }

    private static func key(_ bytes: [UInt8], _ algorithm: Scheme.Algorithm) throws(CryptoError) -> Key {
        if let hash = algorithm.hash { return .hmac(try HMAC(hash, key: bytes)) }
        guard algorithm == .ed25519 else {
            guard !bytes.isEmpty, bytes.allSatisfy({ (0x21...0x7e) ~= $0 }) else {
                throw .invalidKey("can't be sent as a header: it must be visible ASCII characters")
            }
            return .token(String(decoding: bytes, as: UTF8.self))
        }
        do throws(Ed25519Error) {
            return .ed25519(try Ed25519.PrivateKey(seed: bytes))
        } catch {
            throw .invalidKey("is not that of Ed25519: \(error)")
        }
    }

    /// The headers to send: the signature, and the time and the id where the scheme has headers for them.
    package func headers(for message: Scheme.Message) throws(CryptoError) -> [(name: String, value: String)] {
        let timestamp = String(message.timestamp)
        let content = SchemeContent(
            id: message.id, timestamp: timestamp, body: message.body, url: message.url, form: message.form)
        var signatures: [String] = []
        for key in keys { signatures.append(try signature(of: content, key)) }
        var headers = [(name: scheme.header, value: text(signatures, timestamp, message.id))]
        if let name = scheme.timestampHeader { headers.append((name, timestamp)) }
        if let name = scheme.idHeader { headers.append((name, message.id)) }
        return headers
    }

    private func signature(of content: SchemeContent, _ key: Key) throws(CryptoError) -> String {
        switch key {
        case .hmac(let hmac): scheme.encoding.encode(try content.code(of: self.content, with: hmac))
        case .ed25519(let key): scheme.encoding.encode(try key.sign(content.text(of: self.content)))
        case .token(let text): text
        }
    }

    private func text(_ signatures: [String], _ timestamp: String, _ id: String) -> String {
        func text(_ pattern: SchemePattern, _ signature: String) -> String {
            pattern.parts.reduce(into: "") { text, part in
                switch part {
                case .text(let bytes): text += String(decoding: bytes, as: UTF8.self)
                case .placeholder(.signature): text += signature
                case .placeholder(.timestamp): text += timestamp
                case .placeholder(.id): text += id
                case .placeholder: break
                }
            }
        }
        guard let list else { return signatures.first.map { text(value, $0) } ?? "" }
        let entries = list.entries.flatMap { entry in
            entry.contains(.signature) ? signatures.map { text(entry, $0) } : [text(entry, "")]
        }
        return entries.joined(separator: String(Unicode.Scalar(list.separator)))
    }
}

extension Scheme {
    /// The headers to send, for a single message; ``SchemeSigner`` prepares the keys once for many.
    /// - Parameter keys: the newest first; for Ed25519 the seeds.
    package func headers(
        for message: Message, keys: [[UInt8]]
    ) throws(CryptoError) -> [(name: String, value: String)] {
        try SchemeSigner(self, keys: keys).headers(for: message)
    }
}
