import CHeraldOpenSSL

/// Cryptographically secure random bytes. Any thread.
package func randomBytes(_ count: Int) throws(CryptoError) -> [UInt8] {
    try CryptoLibrary.prepare()
    var bytes = [UInt8](repeating: 0, count: count)
    guard herald_random(&bytes, Int32(clamping: count)) == 1 else { throw .libraryFailed("making random bytes") }
    return bytes
}
