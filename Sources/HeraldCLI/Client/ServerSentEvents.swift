/// Parses Server-Sent Events from bytes in arbitrary pieces (HTML standard, 9.2.6).
struct ServerSentEvents {
    struct Message: Equatable {
        /// `nil` for an ordinary message.
        var event: String?
        var id: String?
        var data: [UInt8] = []
    }

    enum Failure: Error {
        /// A message exceeds the limit.
        case tooLong
    }

    private let maxMessageBytes: Int
    private var line: [UInt8] = []
    private var message = Message()
    private var hasData = false
    /// The two characters of a line break may arrive in different pieces.
    private var wasReturn = false

    /// - Parameter maxMessageBytes: the default fits the largest event that a server can be configured to accept.
    init(maxMessageBytes: Int = 32 << 20) { self.maxMessageBytes = maxMessageBytes }

    /// - Parameter messages: gets the complete messages, also those before one that is too long.
    mutating func take(_ bytes: some Sequence<UInt8>, into messages: inout [Message]) throws(Failure) {
        for byte in bytes {
            defer { wasReturn = byte == 13 }
            if byte == 10 && wasReturn { continue }
            guard byte == 10 || byte == 13 else {
                line.append(byte)
                if line.count + message.data.count > maxMessageBytes { throw .tooLong }
                continue
            }
            if line.isEmpty {
                if hasData { messages.append(message) }
                message = Message()
                hasData = false
            } else {
                read()
                line.removeAll(keepingCapacity: true)
            }
        }
    }

    private mutating func read() {
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[min(colon + 1, line.endIndex)...]
        if value.first == 32 { value.removeFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "data":
            if hasData { message.data.append(10) }
            message.data += value
            hasData = true
        case "event": message.event = String(decoding: value, as: UTF8.self)
        case "id": message.id = String(decoding: value, as: UTF8.self)
        // Comments, including the heartbeat, have no name.
        default: break
        }
    }
}
