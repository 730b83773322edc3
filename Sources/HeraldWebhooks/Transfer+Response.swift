import HeraldModel

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
            codingCount += AnswerHeaders.codings(in: line)
            answer.take(line)
        }
    }

    /// The body has codings inside each other. A few bytes of these become gigabytes between two decoders, where no
    /// callback sees them: the thread would decode for minutes. An interim response may have a body too, with 101.
    var mustNotDecode: Bool { isHeadComplete && codingCount > 1 }

    /// Unless the body decides, the outcome is known from here on.
    private func decide() {
        decidedAt = CurlSender.now()
        if !isDecidedByBody { openBodies.insert(self) }
        allowMore()
    }

    /// Whether the outcome depends on the body, which then has as long as the response. That of a test call may be a challenge.
    private var isDecidedByBody: Bool {
        switch callback?.purpose {
        case .token, .test: true
        case .delivery: target?.recipe?.plan.success != nil
        case .handshake, nil: false
        }
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
