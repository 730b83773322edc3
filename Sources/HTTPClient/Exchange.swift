import CCurl
import Glibc

/// One request on its way, as libcurl's callbacks see it. They run on the thread that performs it.
final class Exchange {
    /// Decides about the bytes of a streamed body: whether to go on.
    typealias Receiver = (UnsafeRawBufferPointer) -> Bool

    private(set) var headers: [(name: String, value: String)] = []
    private(set) var body: [UInt8] = []
    private(set) var error: HTTPClientError?
    /// The receiver of the stream has had enough.
    private(set) var isEnded = false

    private let easy: UnsafeMutableRawPointer
    private let maxBodyBytes: Int
    private let maxSilence: Int?
    private let receiver: Receiver?
    private var heardAt = Exchange.now()

    /// - Parameter maxSilence: seconds.
    init(_ easy: UnsafeMutableRawPointer, maxBodyBytes: Int, maxSilence: Int? = nil, receiver: Receiver? = nil) {
        self.easy = easy
        self.maxBodyBytes = maxBodyBytes
        self.maxSilence = maxSilence
        self.receiver = receiver
    }

    static let maxHeaders = 200

    func take(header line: UnsafeRawBufferPointer) {
        heardAt = Self.now()
        let text = String(decoding: line, as: UTF8.self).filter { $0 != "\r\n" && $0 != "\n" }
        // An interim answer, or that of a proxy, came before.
        if text.hasPrefix("HTTP/") { headers.removeAll() }
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, headers.count < Self.maxHeaders else { return }
        headers.append((parts[0].lowercased(), String(parts[1].drop { $0 == " " })))
    }

    /// - Returns: whether to go on.
    func take(body bytes: UnsafeRawBufferPointer) -> Bool {
        heardAt = Self.now()
        // What refuses a stream is an answer like any other.
        if let receiver, (200..<300).contains(herald_client_status(easy)) {
            isEnded = !receiver(bytes)
            heardAt = Self.now()
            return !isEnded
        }
        guard body.count + bytes.count <= maxBodyBytes else {
            error = .tooLarge(limit: maxBodyBytes)
            return false
        }
        body.append(contentsOf: bytes)
        return true
    }

    /// - Returns: whether to go on.
    func look() -> Bool {
        guard let maxSilence, Self.now() - heardAt > maxSilence else { return true }
        error = .silent(seconds: maxSilence)
        return false
    }

    /// Seconds of the monotonic clock.
    private static func now() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec
    }
}

// MARK: libcurl's callbacks: each gets the exchange, which lives as long as the transfer.

private func exchange(_ owner: UnsafeMutableRawPointer?) -> Exchange? {
    owner.map { Unmanaged<Exchange>.fromOpaque($0).takeUnretainedValue() }
}

func receiveBody(_ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ owner: UnsafeMutableRawPointer?)
    -> Int
{
    exchange(owner)?.take(body: UnsafeRawBufferPointer(start: bytes, count: size * count)) == true ? size * count : 0
}

func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ owner: UnsafeMutableRawPointer?
) -> Int {
    exchange(owner)?.take(header: UnsafeRawBufferPointer(start: bytes, count: size * count))
    return size * count
}

func lookAtProgress(_ owner: UnsafeMutableRawPointer?, _: Int, _: Int, _: Int, _: Int) -> Int32 {
    exchange(owner)?.look() == true ? 0 : 1
}
