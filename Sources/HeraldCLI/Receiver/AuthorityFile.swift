import Glibc
import HeraldReceiver

/// The certificate of an authority in a temporary folder, for clients that have to trust it.
struct AuthorityFile {
    private let folder: String
    var path: String { folder + "/ca.pem" }

    init(_ authority: CertificateAuthority) throws(CommandError) {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/herald-receiver-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template).map({ String(cString: $0) }) else {
            throw CommandError("Cannot make a folder in \(parent): \(String(cString: strerror(errno))).")
        }
        folder = made
        let file = fopen(path, "w")
        let isWritten = file.map { fputs(authority.pem, $0) >= 0 } ?? false
        guard file.map({ fclose($0) == 0 }) ?? false, isWritten else {
            let problem = String(cString: strerror(errno))
            remove()
            throw CommandError("\(path) cannot be written: \(problem).")
        }
    }

    func remove() {
        unlink(path)
        rmdir(folder)
    }
}
