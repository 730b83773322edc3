/// One request on its way, as libcurl's callbacks see it. They run on the thread that performs it.
final class Exchange {
    private(set) var headers: [(name: String, value: String)] = []
    private(set) var body: [UInt8] = []
    private(set) var error: HTTPClientError?
    private let maxBodyBytes: Int

    init(maxBodyBytes: Int) { self.maxBodyBytes = maxBodyBytes }

    static let maxHeaders = 200

    func take(header line: UnsafeRawBufferPointer) {
        let text = String(decoding: line, as: UTF8.self).filter { $0 != "\r\n" && $0 != "\n" }
        // An interim answer, or that of a proxy, came before.
        if text.hasPrefix("HTTP/") { headers.removeAll() }
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, headers.count < Self.maxHeaders else { return }
        headers.append((parts[0].lowercased(), String(parts[1].drop { $0 == " " })))
    }

    /// - Returns: whether to go on.
    func take(body bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= maxBodyBytes else {
            error = .tooLarge(limit: maxBodyBytes)
            return false
        }
        body.append(contentsOf: bytes)
        return true
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
