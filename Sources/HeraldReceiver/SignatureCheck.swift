package import HeraldCrypto
import HeraldRuntime

/// Verifies the signatures of callbacks: Standard Webhooks, or any other ``Scheme``.
package struct SignatureCheck: Sendable {
    /// A scheme and its keys.
    private struct Part {
        let scheme: Scheme
        var keys: [[UInt8]] = []
    }

    private let parts: [Part]

    /// - Parameters:
    ///   - keys: one matching key is enough.
    ///   - scheme: `nil` for Standard Webhooks: `v1` with `whsec_…`, and `v1a` with `whpk_…`.
    package init(keys: [String], scheme: Scheme? = nil) throws(SignatureKeyError) {
        var parts = scheme.map { [Part(scheme: $0)] } ?? [Part(scheme: .standard), Part(scheme: .standardEd25519)]
        for text in keys {
            let isPublic = text.hasPrefix(Ed25519.PublicKey.prefix)
            if scheme == nil, !isPublic, !text.hasPrefix(SecretText.prefix) {
                throw SignatureKeyError(
                    description: "A key must begin with \(SecretText.prefix) or \(Ed25519.PublicKey.prefix).")
            }
            let index = isPublic ? parts.count - 1 : 0
            do throws(SchemeKeyError) {
                parts[index].keys.append(try parts[index].scheme.key(text, for: .verifying))
            } catch {
                throw SignatureKeyError(description: "The \(isPublic ? "public key" : "secret") \(error).")
            }
        }
        self.parts = parts.filter { !$0.keys.isEmpty }
    }

    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - url: the URL that the sender has, for schemes that sign it.
    package func verdict(
        on request: ReceivedRequest, now: Int64, url: String = ""
    ) throws(CryptoError) -> SchemeVerdict {
        try verdict(on: request.body, now: now, url: url) { request.header($0) }
    }

    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - url: the URL that the sender has, for schemes that sign it.
    ///   - header: the value of the header with this name, in lower case.
    package func verdict(
        on body: [UInt8], now: Int64, url: String, header: (String) -> String?
    ) throws(CryptoError) -> SchemeVerdict {
        var verdicts: [SchemeVerdict] = []
        for part in parts {
            // Whatever the type of the body is said to be: a scheme that signs the form alone must not leave it out.
            let form = part.scheme.content.holds("{form}") ? FormFields.read(body) : []
            verdicts.append(
                try part.scheme.verify(
                    body: body, url: url, form: form, header: header, keys: part.keys, now: now / 1000))
        }
        return verdicts.min { Self.rank($0) < Self.rank($1) } ?? .forged(.unknown)
    }

    /// The most favorable verdict first, then the one that says most.
    private static func rank(_ verdict: SchemeVerdict) -> Int {
        switch verdict {
        case .verified: 0
        case .stale: 1
        case .forged(let mismatch) where mismatch != .unknown: 2
        case .forged: 3
        case .malformed: 4
        case .missing: 5
        }
    }
}

/// Why a key is invalid. Never quotes it.
package struct SignatureKeyError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
}
