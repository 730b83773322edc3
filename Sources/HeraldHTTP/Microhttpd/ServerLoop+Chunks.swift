internal import CHeraldMicrohttpd

// Chunked bodies are checked as they are read from the socket (see ChunkRules).
extension ServerLoop {
    /// The last read of the library.
    struct LastRead {
        /// Numbers the reads.
        var number = 0
        var descriptor: Int32 = -1
        var bytes = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
    }

    /// The library has read these bytes, and parses them next.
    func hasRead(_ descriptor: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        lastRead = LastRead(number: lastRead.number + 1, descriptor: descriptor, bytes: bytes)
        if !chunked.isEmpty { chunked[descriptor]?.chunks?.read(bytes) }
    }

    /// Checks the body from its start on, which may have arrived together with the header section. When they arrived
    /// together with the end of the request before it, the library has moved them since; then the body is not checked.
    func checkChunks(of connection: ClientConnection, after end: UnsafePointer<UInt8>?) {
        let descriptor = herald_mhd_descriptor(connection.handle)
        guard let end, let start = lastRead.bytes.baseAddress, lastRead.descriptor == descriptor,
            lastRead.number > connection.finishedAfterRead, start <= end, end <= start + lastRead.bytes.count
        else { return }
        var rules = ChunkRules()
        rules.read(UnsafeBufferPointer(start: end, count: start + lastRead.bytes.count - end))
        connection.chunks = rules
        chunked[descriptor] = connection
    }

    func forgetChunks(of connection: ClientConnection) {
        if let entry = chunked.first(where: { $0.value === connection }) { chunked[entry.key] = nil }
    }
}
