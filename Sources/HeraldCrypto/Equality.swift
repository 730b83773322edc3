import CHeraldOpenSSL

/// Whether both contain the same bytes, in a time that does not depend on where they differ. Their length is not
/// secret.
package func isEqualInConstantTime(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && herald_equal(one, other, one.count) == 1
}
