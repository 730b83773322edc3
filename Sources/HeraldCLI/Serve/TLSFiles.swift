import Glibc
import HeraldHTTP

/// The files of the server's certificate and key. Read at the start and after each SIGHUP.
struct TLSFiles: Equatable {
    let certificate: String
    let key: String

    private static let maxBytes = 1 << 20

    func load() throws(TLSFilesError) -> ServerCertificate {
        if let problem = SecretFile.problem(key) {
            throw TLSFilesError(
                description: "\(key) has the private key, and \(problem)",
                advice: SecretFile.command(in: problem) ?? "make it readable by its owner only")
        }
        let chain = try Self.read(certificate)
        var keyBytes = try Self.read(key)
        defer {
            keyBytes.withUnsafeMutableBytes { if let start = $0.baseAddress { explicit_bzero(start, $0.count) } }
        }
        do throws(ServerCertificateError) {
            return try ServerCertificate(chain: chain, key: keyBytes)
        } catch {
            throw TLSFilesError(self, error)
        }
    }

    private static func read(_ path: String) throws(TLSFilesError) -> [UInt8] {
        // A pipe without a writer must not block the start.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw TLSFilesError(unreadable: path, String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 { throw TLSFilesError(unreadable: path, String(cString: strerror(errno))) }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
            if bytes.count > maxBytes { throw TLSFilesError(unreadable: path, "it is larger than \(maxBytes) bytes") }
        }
    }
}

struct TLSFilesError: Error, CustomStringConvertible {
    let description: String
    /// For `herald doctor`.
    let advice: String
}

extension TLSFilesError {
    fileprivate init(unreadable path: String, _ reason: String) {
        self.init(
            description: "\(path) cannot be read: \(reason)",
            advice: "name PEM files that the user of the server can read")
    }

    fileprivate init(_ files: TLSFiles, _ error: ServerCertificateError) {
        let (certificate, key) = (files.certificate, files.key)
        let (place, advice) =
            switch error {
            case .notACertificate:
                (certificate, "openssl x509 -inform DER -in \(certificate) -out NEW writes it as PEM")
            case .notAKey: (key, "name the file of the private key in --tls-key")
            case .encryptedKey: (key, "openssl pkey -in \(key) -out NEW writes it without its password; chmod 600 NEW")
            case .mismatch:
                (
                    "\(certificate), \(key)",
                    "name the key of this certificate in --tls-key: `openssl x509 -noout -pubkey -in \(certificate)` and "
                        + "`openssl pkey -pubout -in KEY` print the same for the right one"
                )
            }
        self.init(description: "\(place): \(error)", advice: advice)
    }
}
