/// Reads Server-Sent Events from bytes, however they are cut (HTML standard, 9.2.6).
struct ServerSentEvents {
    struct Message: Equatable {
        /// `nil`: it is a message like any other.
        var event: String?
        var id: String?
        var data: [UInt8] = []
    }

    enum Failure: Error {
        /// A message is longer than any that Herald sends.
        case tooLong
    }

    private let maxMessageBytes: Int
    private var line: [UInt8] = []
    private var message = Message()
    private var hasData = false
    /// A line break of two characters may have been cut in two.
    private var wasReturn = false

    /// - Parameter maxMessageBytes: by default an event as large as a server can be told to take, with what stands around it.
    init(maxMessageBytes: Int = 32 << 20) { self.maxMessageBytes = maxMessageBytes }

    /// - Parameter each: gets each message that is complete; `false` ends it, and what follows is left out.
    /// - Returns: whether to go on.
    mutating func take(
        _ bytes: some Sequence<UInt8>, _ each: (Message) -> Bool
    ) throws(Failure) -> Bool {
        for byte in bytes {
            defer { wasReturn = byte == 13 }
            if byte == 10 && wasReturn { continue }
            guard byte == 10 || byte == 13 else {
                line.append(byte)
                if line.count + message.data.count > maxMessageBytes { throw .tooLong }
                continue
            }
            if line.isEmpty {
                defer {
                    message = Message()
                    hasData = false
                }
                if hasData, !each(message) { return false }
            } else {
                read()
                line.removeAll(keepingCapacity: true)
            }
        }
        return true
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
        // Comments, among them the heartbeat, have no name at all.
        default: break
        }
    }
}
