extension Scheme {
    /// The headers to send: the signature, and the time and the id where the scheme has headers for them.
    /// - Parameter keys: the newest first, at least one; for Ed25519 the seeds. A value that can hold several signatures gets
    ///   one for each key, any other one that of the newest.
    package func headers(
        for message: Message, keys: [[UInt8]]
    ) throws(CryptoError) -> [(name: String, value: String)] {
        let (content, value) = try patterns()
        guard let newest = keys.first else { throw .invalidKey("is missing") }
        let list = value.list
        let timestamp = String(message.timestamp)
        let parts = SchemeContent(
            id: message.id, timestamp: timestamp, body: message.body, url: message.url, form: message.form)
        var signatures: [String] = []
        for key in list == nil ? [newest] : keys { signatures.append(try signature(of: parts, content, key)) }
        func text(_ pattern: SchemePattern, _ signature: String) -> String {
            pattern.parts.reduce(into: "") { text, part in
                switch part {
                case .text(let bytes): text += String(decoding: bytes, as: UTF8.self)
                case .placeholder(.signature): text += signature
                case .placeholder(.timestamp): text += timestamp
                case .placeholder(.id): text += message.id
                case .placeholder: break
                }
            }
        }
        let entries = (list?.entries ?? [value]).flatMap { entry in
            entry.contains(.signature) ? signatures.map { text(entry, $0) } : [text(entry, "")]
        }
        let separator = list.map { String(Unicode.Scalar($0.separator)) } ?? ""
        var headers = [(name: header, value: entries.joined(separator: separator))]
        if let name = timestampHeader { headers.append((name, timestamp)) }
        if let name = idHeader { headers.append((name, message.id)) }
        return headers
    }

    private func signature(
        of parts: SchemeContent, _ content: SchemePattern, _ key: [UInt8]
    ) throws(CryptoError) -> String {
        if let hash = algorithm.hash {
            return encoding.encode(try parts.code(of: content, with: try HMAC(hash, key: key)))
        }
        guard algorithm == .ed25519 else {
            guard !key.isEmpty, key.allSatisfy({ (0x21...0x7e) ~= $0 }) else {
                throw .invalidKey("can't be sent as a header: it must be visible ASCII characters")
            }
            return String(decoding: key, as: UTF8.self)
        }
        let pair: Ed25519.PrivateKey
        do throws(Ed25519Error) {
            pair = try Ed25519.PrivateKey(seed: key)
        } catch {
            throw .invalidKey("is not that of Ed25519: \(error)")
        }
        return encoding.encode(try pair.sign(parts.text(of: content)))
    }
}
