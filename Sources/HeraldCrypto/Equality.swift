import CHeraldOpenSSL

/// Whether both hold the same bytes, found in a time that tells nothing of where they differ. Their length is no secret.
public func isEqualInConstantTime(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && herald_equal(one, other, one.count) == 1
}
