import Glibc
import HeraldHTTP

/// The files of the server's certificate and key. Read at the start and after each SIGHUP.
struct TLSFiles: Equatable {
    let certificate: String
    let key: String

    private static let maxBytes = 1 << 20

    func load() throws(TLSFilesError) -> ServerCertificate {
        if let problem = SecretFile.problem(key) { throw .exposed(key, problem) }
        let chain = try Self.read(certificate)
        var keyBytes = try Self.read(key)
        defer {
            keyBytes.withUnsafeMutableBytes { if let start = $0.baseAddress { explicit_bzero(start, $0.count) } }
        }
        do throws(ServerCertificateError) {
            return try ServerCertificate(chain: chain, key: keyBytes)
        } catch {
            throw .unusable(certificate: certificate, key: key, error)
        }
    }

    private static func read(_ path: String) throws(TLSFilesError) -> [UInt8] {
        // A pipe without a writer must not block the start.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .unreadable(path, String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 { throw .unreadable(path, String(cString: strerror(errno))) }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
            if bytes.count > maxBytes { throw .unreadable(path, "it is larger than \(maxBytes) bytes") }
        }
    }
}

enum TLSFilesError: Error, CustomStringConvertible {
    case unreadable(String, String)
    /// Other users may read the key.
    case exposed(String, String)
    case unusable(certificate: String, key: String, ServerCertificateError)

    var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(path) cannot be read: \(reason)"
        case .exposed(let path, let problem): "\(path) has the private key, and \(problem)"
        case .unusable(let certificate, let key, let error):
            switch error {
            case .notACertificate: "\(certificate): \(error)"
            case .notAKey, .encryptedKey: "\(key): \(error)"
            case .mismatch: "\(certificate), \(key): \(error)"
            }
        }
    }
}
