import HeraldJSON

/// The fields of a body of the type `application/x-www-form-urlencoded`.
package enum FormFields {
    /// The decoded fields in their order. A body of another type becomes a field with an odd name.
    package static func read(_ body: [UInt8]) -> [(name: String, value: String)] {
        body.split(separator: UInt8(ascii: "&")).map { field in
            let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (decoded(parts[0]), parts.count > 1 ? decoded(parts[1]) : "")
        }
    }

    /// Percent-decoded; invalid escapes stay unchanged.
    /// - Parameter isPath: `+` is no space.
    static func decoded(_ text: ArraySlice<UInt8>, isPath: Bool = false) -> String {
        let bytes = text.map { $0 == UInt8(ascii: "+") && !isPath ? UInt8(ascii: " ") : $0 }
        return String(decoding: PercentEscapes.decode(bytes), as: UTF8.self)
    }
}
