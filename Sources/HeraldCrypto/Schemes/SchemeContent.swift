/// The signed parts of a message.
struct SchemeContent {
    var id: [UInt8]
    /// As in the header.
    var timestamp: [UInt8]
    var body: [UInt8]
    var url: [UInt8]
    var form: [UInt8]

    /// - Parameter form: the decoded fields.
    init(id: String, timestamp: String, body: [UInt8], url: String, form: [(name: String, value: String)]) {
        self.id = Array(id.utf8)
        self.timestamp = Array(timestamp.utf8)
        self.body = body
        self.url = Array(url.utf8)
        self.form = Self.sorted(form)
    }

    private static func sorted(_ form: [(name: String, value: String)]) -> [UInt8] {
        // By code points, as Twilio's libraries do: the order of UTF-8.
        let fields = form.map { (Array($0.name.utf8), Array($0.value.utf8)) }.sorted { one, two in
            one.0 == two.0 ? one.1.lexicographicallyPrecedes(two.1) : one.0.lexicographicallyPrecedes(two.0)
        }
        var bytes: [UInt8] = []
        for (index, field) in fields.enumerated() where index == 0 || field != fields[index - 1] {
            bytes += field.0 + field.1
        }
        return bytes
    }

    /// Calls the closure with each piece of the signed text.
    func pieces(of pattern: SchemePattern, _ body: ([UInt8]) -> Void) {
        for part in pattern.parts {
            switch part {
            case .text(let text): body(text)
            case .placeholder(.id): body(id)
            case .placeholder(.timestamp): body(timestamp)
            case .placeholder(.body): body(self.body)
            case .placeholder(.url): body(url)
            case .placeholder(.form): body(form)
            case .placeholder(.signature): break
            }
        }
    }

    func text(of pattern: SchemePattern) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count + url.count + form.count + 128)
        pieces(of: pattern) { bytes += $0 }
        return bytes
    }

    func code(of pattern: SchemePattern, with hmac: HMAC) throws(CryptoError) -> [UInt8] {
        pieces(of: pattern) { hmac.update($0) }
        return try hmac.finish()
    }
}

extension Scheme.Encoding {
    func encode(_ bytes: [UInt8]) -> String {
        switch self {
        case .hex: Hex.encode(bytes)
        case .base64: Base64.encode(bytes)
        }
    }

    /// `nil` if the text is not exactly what `encode` writes.
    func decode(_ text: some StringProtocol) -> [UInt8]? {
        switch self {
        case .hex: Hex.decode(text)
        case .base64: Base64.decode(text)
        }
    }
}
