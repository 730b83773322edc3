extension SchemeCheck {
    /// Larger bodies are not examined.
    private static let maxBodyBytes = 1_048_576

    /// Why a signature is wrong: applies one usual mistake at a time, and verifies again.
    func explanation(
        _ signatures: [String], _ content: SchemeContent, _ keys: [[UInt8]]
    ) throws(CryptoError) -> SchemeMismatch {
        if let mismatch = try otherEncoding(signatures, content, keys) { return mismatch }
        let signatures = signatures.compactMap(bytes)
        guard !signatures.isEmpty else { return .unknown }
        for key in keys {
            if let mismatch = try otherKey(signatures, content, key) { return mismatch }
        }
        guard scheme.algorithm != .token else { return .unknown }
        for key in keys {
            if signsURL, let mismatch = try otherURL(signatures, content, key) { return mismatch }
            if signsBody, content.body.count <= Self.maxBodyBytes,
                let mismatch = try otherBody(signatures, content, key)
            {
                return mismatch
            }
        }
        return .unknown
    }

    private func otherEncoding(
        _ signatures: [String], _ content: SchemeContent, _ keys: [[UInt8]]
    ) throws(CryptoError) -> SchemeMismatch? {
        guard scheme.algorithm != .token else { return nil }
        let forms: [(words: String, decode: (String) -> [UInt8]?)] = [
            ("hexadecimal digits in upper case", { Hex.decode($0.lowercased()) }),
            ("base64", { Base64.decode($0) }),
            ("base64 of URLs", { Base64.decodeURLSafe($0) }),
        ]
        for form in forms {
            let decoded = signatures.filter { bytes($0) == nil }.compactMap(form.decode)
            for key in keys where try isRight(decoded, content, key) {
                // A scheme with base64 that got lower case.
                let isLower = signatures.contains { Hex.decode($0) != nil }
                return .encoding(isLower && scheme.encoding == .base64 ? "hexadecimal digits" : form.words)
            }
        }
        return nil
    }

    private func otherKey(
        _ signatures: [[UInt8]], _ content: SchemeContent, _ key: [UInt8]
    ) throws(CryptoError) -> SchemeMismatch? {
        guard scheme.algorithm != .ed25519 else { return nil }
        let trimmed = Self.trimmed(key)
        if trimmed != key, try isRight(signatures, content, trimmed) { return .secretWhiteSpace }
        guard scheme.algorithm != .token else { return nil }
        switch scheme.key {
        case .text:
            let text = String(decoding: trimmed, as: UTF8.self)
            let encoded = text.hasPrefix(SecretText.prefix) ? text.dropFirst(SecretText.prefix.count) : text[...]
            if let bytes = Base64.decode(encoded), try isRight(signatures, content, bytes) {
                return .secretForm(.whsec)
            }
        case .whsec:
            for text in [SecretText.print(key), Base64.encode(key)]
            where try isRight(signatures, content, Array(text.utf8)) {
                return .secretForm(.text)
            }
        }
        return nil
    }

    private func otherURL(
        _ signatures: [[UInt8]], _ content: SchemeContent, _ key: [UInt8]
    ) throws(CryptoError) -> SchemeMismatch? {
        let url = String(decoding: content.url, as: UTF8.self)
        var others: [String] = []
        if url.hasPrefix("http://") { others.append("https://" + url.dropFirst("http://".count)) }
        if url.hasPrefix("https://") { others.append("http://" + url.dropFirst("https://".count)) }
        others.append(url.hasSuffix("/") ? String(url.dropLast()) : url + "/")
        if let query = url.firstIndex(of: "?") { others.append(String(url[..<query])) }
        for other in others {
            var content = content
            content.url = Array(other.utf8)
            if try isRight(signatures, content, key) { return .url(other) }
        }
        return nil
    }

    private func otherBody(
        _ signatures: [[UInt8]], _ content: SchemeContent, _ key: [UInt8]
    ) throws(CryptoError) -> SchemeMismatch? {
        func isRight(_ body: [UInt8]) throws(CryptoError) -> Bool {
            var content = content
            content.body = body
            return try self.isRight(signatures, content, key)
        }
        let newline = UInt8(ascii: "\n")
        let body = content.body
        if body.last == newline {
            if try isRight(Array(body.dropLast())) { return .bodyEnd("without the last newline") }
            if body.dropLast().last == UInt8(ascii: "\r"), try isRight(Array(body.dropLast(2))) {
                return .bodyEnd("without the last CR LF")
            }
        }
        let trimmed = Self.trimmed(body)
        if trimmed != body, try isRight(trimmed) { return .bodyEnd("without the white space at its ends") }
        if try isRight(body + [newline]) { return .bodyEnd("with a newline at its end") }
        for escapes in BodyVariant.Escapes.allCases {
            for spacing in BodyVariant.Spacing.allCases {
                let variant = BodyVariant(spacing: spacing, escapes: escapes)
                guard let other = variant.apply(to: trimmed), other != body else { continue }
                if try isRight(other) { return .bodyEncoding(variant.words) }
            }
        }
        return nil
    }

    private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
        var slice = bytes[...]
        while let byte = slice.first, isSpace(byte) { slice.removeFirst() }
        while let byte = slice.last, isSpace(byte) { slice.removeLast() }
        return Array(slice)
    }
}
