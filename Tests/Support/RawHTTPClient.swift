import Glibc

/// The response that a raw socket received.
public struct RawHTTPResponse: Sendable {
    public let status: Int
    /// Names in lower case.
    public let headers: [(name: String, value: String)]
    public let body: [UInt8]

    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
    public var text: String { String(decoding: body, as: UTF8.self) }
}

/// A TCP client that sends exactly what it is told and waits, blocking, for a bounded time: for threads of its own
/// (`RawHTTP.onThread`), never for the cooperative pool.
public final class RawHTTPClient {
    public enum Failure: Error {
        case connect(Int32)
        /// Nothing came for that long.
        case timeout(received: String)
        case malformed(String)
    }

    public let descriptor: Int32
    private var received: [UInt8] = []
    private var isAtEnd = false

    /// - Parameters:
    ///   - timeoutSeconds: of each read.
    ///   - source: the last byte of the client's own address, 127.0.0.x.
    public init(port: UInt16, timeoutSeconds: Int = Int(patience), source: UInt8 = 1) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var timeout = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var own = address
        own.sin_port = 0
        own.sin_addr.s_addr = (0x7f00_0000 | UInt32(source)).bigEndian
        let bound = withUnsafePointer(to: own) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                source == 1 ? 0 : Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if bound != 0 { throw Failure.connect(errno) }
        let result = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // The descriptor is closed by `deinit`, which runs even so.
        if result != 0 { throw Failure.connect(errno) }
    }

    /// Connects, and sends the text.
    public convenience init(
        port: UInt16, timeoutSeconds: Int = Int(patience), source: UInt8 = 1, sending text: String
    ) throws {
        try self.init(port: port, timeoutSeconds: timeoutSeconds, source: source)
        send(text)
    }

    deinit { Glibc.close(descriptor) }

    /// False if the other side has gone.
    @discardableResult
    public func send(_ bytes: some Collection<UInt8>) -> Bool {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    public func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Sends this and a FIN in one segment.
    public func sendLast(_ text: String) {
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CORK, &on, 4)
        send(text)
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Sends no FIN but a RST: how a client dies.
    public func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Nil at the end of the stream.
    /// - Parameter isToHead: the answer to a HEAD, which has no body whatever its `Content-Length`.
    public func readResponse(isToHead: Bool = false) throws -> RawHTTPResponse? {
        while true {
            if let response = try parse(isToHead: isToHead) { return response }
            if try !receive() {
                if received.isEmpty { return nil }
                throw Failure.malformed(String(decoding: received, as: UTF8.self))
            }
        }
    }

    /// Everything up to the end of the stream. A reset counts as one.
    public func readToEnd() throws -> [UInt8] {
        while try receive() {}
        defer { received = [] }
        return received
    }

    /// Reads an open-ended response up to this text, inclusive. Returns nil at the end of the stream.
    public func read(until marker: String) throws -> String? {
        let marker = Array(marker.utf8)
        var searched = 0
        while true {
            while searched + marker.count <= received.count {
                if received[searched..<(searched + marker.count)].elementsEqual(marker) {
                    let end = searched + marker.count
                    defer { received.removeFirst(end) }
                    return String(decoding: received[..<end], as: UTF8.self)
                }
                searched += 1
            }
            if try !receive() { return nil }
        }
    }

    private func receive() throws -> Bool {
        if isAtEnd { return false }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0, errno == EAGAIN { throw Failure.timeout(received: String(decoding: received, as: UTF8.self)) }
        if count <= 0 {
            isAtEnd = true
            return false
        }
        received.append(contentsOf: buffer[..<count])
        return true
    }

    private func parse(isToHead: Bool) throws -> RawHTTPResponse? {
        guard let end = Self.headEnd(received) else { return nil }
        let lines = String(decoding: received[..<(end - 4)], as: UTF8.self).split(separator: "\r\n")
        let parts = lines[0].split(separator: " ")
        guard parts.count >= 2, parts[0].hasPrefix("HTTP/1."), let status = Int(parts[1]) else {
            throw Failure.malformed(String(lines[0]))
        }
        let headers = lines.dropFirst().map { line in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            return (name: line[..<colon].lowercased(), value: String(line[colon...].dropFirst().drop { $0 == " " }))
        }
        let length = headers.first { $0.name == "content-length" }.flatMap { Int($0.value) } ?? 0
        let bodyLength = isToHead || status / 100 == 1 ? 0 : length
        guard received.count >= end + bodyLength else { return nil }
        let body = Array(received[end..<(end + bodyLength)])
        received.removeFirst(end + bodyLength)
        return RawHTTPResponse(status: status, headers: headers, body: body)
    }

    private static func headEnd(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        for index in 0...(bytes.count - 4)
        where bytes[index] == 13 && bytes[index + 1] == 10 && bytes[index + 2] == 13 && bytes[index + 3] == 10 {
            return index + 4
        }
        return nil
    }
}
