import Glibc
import HeraldJSON

/// The responses of all tests, for `Tests/Responses/validate.py`: a line for each in the file that HERALD_RESPONSES names.
enum ResponseRecord {
    /// Opened for appending: each line is one write, so that tests need no lock.
    private static let descriptor: Int32? = getenv("HERALD_RESPONSES").map {
        open($0, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    }

    static func add(_ answer: Answer, to method: String, _ path: String) {
        guard let descriptor, descriptor >= 0, !answer.body.isEmpty else { return }
        var json = JSONWriter(capacity: answer.body.count + 256)
        json.object {
            $0.member("method", method)
            $0.member("path", path)
            $0.member("status", answer.status)
            $0.member("type", answer.header("content-type") ?? "")
            $0.member("body", answer.text)
        }
        let line = json.bytes + [UInt8(ascii: "\n")]
        _ = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    }
}
