/// How the signature of an HTTP message is made and verified, as data: six fields, and the headers that carry the time and
/// the id.
///
/// ```json
/// {"header": "Stripe-Signature", "algorithm": "hmac-sha256", "content": "{timestamp}.{body}", "encoding": "hex",
///  "value": "t={timestamp},v1={signature}", "key": "text"}
/// ```
///
/// ``problems`` must be empty before a scheme is used.
package struct Scheme: Hashable, Sendable {
    /// How the signature is computed.
    package enum Algorithm: String, CaseIterable, Sendable {
        case hmacSHA256 = "hmac-sha256"
        case hmacSHA1 = "hmac-sha1"
        case hmacSHA512 = "hmac-sha512"
        case ed25519
        /// The secret itself is sent.
        case token

        /// `nil` if it is not an HMAC.
        package var hash: HMAC.Hash? {
            switch self {
            case .hmacSHA256: .sha256
            case .hmacSHA1: .sha1
            case .hmacSHA512: .sha512
            case .ed25519, .token: nil
            }
        }
    }

    /// How the bytes of the signature are written.
    package enum Encoding: String, CaseIterable, Sendable {
        /// Lower case.
        case hex
        /// The standard alphabet with padding.
        case base64
    }

    /// How the bytes of a key are made from the text of a secret. Ed25519 accepts both text forms with either value.
    package enum KeyForm: String, CaseIterable, Sendable {
        /// The UTF-8 of the text; for Ed25519 64 hexadecimal digits.
        case text
        /// The text form of Standard Webhooks: `whsec_` and base64; for Ed25519 `whsk_` or `whpk_` and base64.
        case whsec
    }

    /// The name of the header with the signature.
    package var header: String
    package var algorithm: Algorithm
    /// The signed text, with the placeholders `{id}`, `{timestamp}`, `{body}`, `{url}` and `{form}`. Unused for tokens.
    ///
    /// `{form}` is the names and values of the form's fields, sorted by name and then by value, without separators and
    /// without duplicates.
    package var content: String
    package var encoding: Encoding
    /// The value of the header, with the placeholders `{signature}`, `{timestamp}` and `{id}`.
    ///
    /// A list of named parts repeats the part with the signature for each key: `t={timestamp},v1={signature}` becomes
    /// `t=1,v1=a,v1=b`, and with `;` likewise. `v1,{signature}` is repeated as a whole, separated by spaces. Any other value
    /// holds one signature.
    package var value: String
    package var key: KeyForm
    /// The header with the time in seconds since 1970; `nil` for none.
    package var timestampHeader: String?
    /// The header with the id of the message; `nil` for none.
    package var idHeader: String?

    package init(
        header: String, algorithm: Algorithm = .hmacSHA256, content: String = "{body}", encoding: Encoding = .hex,
        value: String = "{signature}", key: KeyForm = .text, timestampHeader: String? = nil, idHeader: String? = nil
    ) {
        self.header = header
        self.algorithm = algorithm
        self.content = content
        self.encoding = encoding
        self.value = value
        self.key = key
        self.timestampHeader = timestampHeader
        self.idHeader = idHeader
    }

    /// The names of all headers that it sets.
    package var headerNames: [String] { [header, timestampHeader, idHeader].compactMap { $0 } }

    /// A message that is signed.
    package struct Message: Sendable {
        /// As in the header: an id with a full stop makes `{id}.{timestamp}.{body}` ambiguous.
        package var id: String
        /// Seconds since 1970 UTC.
        package var timestamp: Int64
        package var body: [UInt8]
        /// The URL of the request, as the receiver has been configured with it.
        package var url: String
        /// The decoded fields, if the body is a form.
        package var form: [(name: String, value: String)]

        package init(
            id: String, timestamp: Int64, body: [UInt8], url: String = "", form: [(name: String, value: String)] = []
        ) {
            self.id = id
            self.timestamp = timestamp
            self.body = body
            self.url = url
            self.form = form
        }
    }
}
