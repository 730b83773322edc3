import Glibc
import HeraldHTTP

/// The files of the server's certificate and key. Read at the start and after each SIGHUP.
struct TLSFiles: Equatable {
    let certificate: String
    let key: String

    private static let maxBytes = 1 << 20

    func load() throws(TLSFilesError) -> ServerCertificate {
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

    /// Which other users may read the key; `nil` if none can.
    var risk: String? {
        var status = stat()
        guard stat(key, &status) == 0 else { return nil }
        if status.st_mode & S_IROTH != 0 { return "everybody on this machine can read \(key): chmod 600 it" }
        if status.st_mode & S_IRGRP != 0 { return "the group of \(key) can read it: chmod 600 it" }
        return nil
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
    case unusable(certificate: String, key: String, ServerCertificateError)

    var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(path) cannot be read: \(reason)"
        case .unusable(let certificate, let key, let error):
            switch error {
            case .notACertificate: "\(certificate): \(error)"
            case .notAKey, .encryptedKey: "\(key): \(error)"
            case .mismatch: "\(certificate), \(key): \(error)"
            }
        }
    }
}
