import CHeraldCurl

/// One request in progress, as libcurl's callbacks see it. They run on the thread that performs it.
final class Exchange {
    private(set) var status = 0
    /// The header lines of the response, without the status line.
    private(set) var head: [UInt8] = []
    private(set) var body: [UInt8] = []
    private(set) var error: HTTPClientError?
    /// The consumer of the stream has ended it.
    private(set) var isEnded = false
    private let maxBodyBytes: Int
    private var stream: Stream?

    /// The consumer of a streamed body.
    struct Stream {
        /// The longest time without data.
        let silenceSeconds: Int
        /// Both return whether to continue.
        let take: (UnsafeRawBufferPointer) -> Bool
        let shouldContinue: () -> Bool
        /// The time of the last data.
        var heardAt = ContinuousClock.now
    }

    init(maxBodyBytes: Int, stream: Stream? = nil) {
        self.maxBodyBytes = maxBodyBytes
        self.stream = stream
    }

    var isStream: Bool { stream != nil }

    private static let maxHeadBytes = 65_536

    func take(header line: UnsafeRawBufferPointer) {
        stream?.heardAt = .now
        if line.starts(with: "HTTP/".utf8) {
            // An interim response, or that of a proxy, came before.
            head.removeAll(keepingCapacity: true)
            status = line.drop { $0 != 32 }.dropFirst().prefix(3).reduce(0) { 10 * $0 + Int($1 & 15) }
        } else if head.count + line.count <= Self.maxHeadBytes {
            head.append(contentsOf: line)
        }
    }

    /// - Returns: whether to continue.
    func take(body bytes: UnsafeRawBufferPointer) -> Bool {
        if let stream, (200..<300).contains(status) {
            isEnded = isEnded || !stream.take(bytes)
            // The time spent in `take` does not count as silence.
            self.stream?.heardAt = .now
            return !isEnded
        }
        guard body.count + bytes.count <= maxBodyBytes else {
            error = .tooLarge(limit: maxBodyBytes, status: status)
            return false
        }
        body.append(contentsOf: bytes)
        return true
    }

    /// Called about once a second.
    /// - Returns: whether to continue.
    func tick() -> Bool {
        guard let stream else { return true }
        if .now - stream.heardAt >= .seconds(stream.silenceSeconds) {
            error = .silent(seconds: stream.silenceSeconds)
            return false
        }
        isEnded = isEnded || !stream.shouldContinue()
        return !isEnded
    }
}

// MARK: libcurl's callbacks: each gets the exchange, which lives as long as the transfer.

private func exchange(_ owner: UnsafeMutableRawPointer?) -> Exchange? {
    owner.map { Unmanaged<Exchange>.fromOpaque($0).takeUnretainedValue() }
}

func receiveBody(_ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ owner: UnsafeMutableRawPointer?)
    -> Int
{
    guard exchange(owner)?.take(body: UnsafeRawBufferPointer(start: bytes, count: size * count)) == true else {
        return herald_client_stop()
    }
    return size * count
}

func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ owner: UnsafeMutableRawPointer?
) -> Int {
    exchange(owner)?.take(header: UnsafeRawBufferPointer(start: bytes, count: size * count))
    return size * count
}

func askWhetherToGoOn(
    _ owner: UnsafeMutableRawPointer?, _: curl_off_t, _: curl_off_t, _: curl_off_t, _: curl_off_t
) -> Int32 {
    exchange(owner)?.tick() == false ? 1 : 0
}
