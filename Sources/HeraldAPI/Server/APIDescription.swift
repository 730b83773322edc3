import HeraldRuntime

/// The OpenAPI description of the API, as served.
package enum APIDescription {
    package static let json = EmbeddedFile.bytes("openapi.json")
    package static let yaml = EmbeddedFile.bytes("openapi.yaml")

    /// The words of `servers`, and those of a server with a public URL. Each stands in a description once.
    private static let serverWords = [
        ("http://127.0.0.1:8080", nil),
        ("The address on which `herald serve` listens by default.", "The URL at which clients reach this server."),
    ]

    /// - Parameter description: `json` or `yaml`.
    /// - Returns: the description with this URL as its only server; unchanged if the URL is not known.
    static func naming(_ url: PublicURL, _ description: [UInt8]) -> [UInt8] {
        if url.base.isEmpty { return description }
        let text = String(decoding: description, as: UTF8.self)
        return Array(serverWords.reduce(text) { $0.replaced($1.0, by: $1.1 ?? url.base) }.utf8)
    }

    /// - Returns: the text with this URL in each of its examples; unchanged if the URL is not known.
    static func namingAll(_ url: PublicURL, _ text: [UInt8]) -> [UInt8] {
        if url.base.isEmpty { return text }
        return Array(String(decoding: text, as: UTF8.self).replaced(serverWords[0].0, by: url.base).utf8)
    }
}
