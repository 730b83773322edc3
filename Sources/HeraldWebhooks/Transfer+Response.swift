// What a response does to a transfer. Called from within libcurl.
extension Transfer {
    /// Takes a status line, a header line, or the empty line that ends the section.
    func take(_ line: UnsafeRawBufferPointer) {
        // The trailer of a body changes nothing.
        if decidedAt != 0 { return }
        if line.first == UInt8(ascii: "H"), line.starts(with: "HTTP/".utf8) {
            // Discards the headers of an interim response.
            answer = AnswerHeaders()
            isHeadComplete = false
            isInterim = AnswerHeaders.isInterim(line)
        } else if line.first == UInt8(ascii: "\r") || line.first == UInt8(ascii: "\n") {
            isHeadComplete = true
            if !isInterim { decide() }
        } else {
            answer.take(line)
        }
    }

    /// The outcome is known from here on.
    private func decide() {
        decidedAt = CurlSender.now()
        openBodies.insert(self)
        allowMore()
    }

    /// The new connection is ready for the request.
    func allowRequest() {
        if let target { descriptors.isReady(descriptor, target.multi) }
    }

    /// Allows the connection to send the next part of the response.
    func allowMore() {
        if let target { descriptors.allowMore(target.multi) }
    }
}
