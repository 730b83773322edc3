internal import CHeraldOpenSSL

/// Checks of certificates and private keys in PEM. Any thread.
package enum Certificates {
    /// The number of certificates in the text; 0 if it contains anything else, or none.
    package static func count(in pem: String) -> Int {
        guard (try? CryptoLibrary.prepare()) != nil else { return 0 }
        return Array(pem.utf8).withUnsafeBytes { Int(herald_pem_count($0.baseAddress, Int32(clamping: $0.count))) }
    }

    package enum KeyVerdict: Sendable {
        case fits
        /// Not a private key in PEM, or an encrypted one.
        case unreadable
        /// It belongs to another certificate.
        case mismatch
        /// It has more than ``mostKeyBits``, or longer exponents than such a key has.
        case tooLong
    }

    /// A signature with an RSA key of 4,096 bits takes 4 ms, and one with 15,360 bits 190 ms.
    package static let mostKeyBits = 4096

    /// Whether a private key belongs to the first certificate of a text.
    package static func check(key: String, of certificate: String) -> KeyVerdict {
        guard (try? CryptoLibrary.prepare()) != nil else { return .unreadable }
        let verdict = Array(key.utf8).withUnsafeBytes { key in
            Array(certificate.utf8).withUnsafeBytes { certificate in
                herald_pem_key_fits(
                    key.baseAddress, Int32(clamping: key.count), certificate.baseAddress,
                    Int32(clamping: certificate.count), Int32(mostKeyBits))
            }
        }
        switch verdict {
        case 1: return .fits
        case 0: return .mismatch
        case -2: return .tooLong
        default: return .unreadable
        }
    }
}
