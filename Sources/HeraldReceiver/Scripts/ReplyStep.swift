/// One step of a script: the replies while it lasts. A value, filled by directives.
struct ReplyStep: Sendable {
    enum Body {
        case bytes([UInt8])
        /// The body of the request.
        case echo
        case endless
    }

    /// A failure in place of a response.
    enum Failure: Equatable {
        case hang, close, reset, refuse, garbage
        case flood(ReceiverFlood)
    }

    var status: Int?
    var headers: [(name: String, value: String)] = []
    var body = Body.bytes([])
    var isCompressed = false
    var delayMilliseconds = 0
    var dripMilliseconds: Int?
    /// The body is truncated after this many bytes.
    var cut: Int?
    var isLastOnConnection = false
    /// Only the first request of a connection gets a response; the connection closes at the next one.
    var isStale = false
    var failure: Failure?
    /// How many requests it is for; the last step is for all further ones.
    var times = 1
    /// The fraction of the requests that it is for, 0...1, at random; `nil` for all.
    var share: Double?
    /// It is for the last seconds of each period `every`; `nil` for the whole time.
    var seconds: Double?
    var every = 60.0

    /// Whether it is for selected requests, rather than for a number of consecutive ones.
    var isConditional: Bool { share != nil || seconds != nil }

    fileprivate func applies(after elapsed: Double, _ random: inout SeededRandom) -> Bool {
        if let seconds, elapsed.truncatingRemainder(dividingBy: every) < every - seconds { return false }
        guard let share else { return true }
        return Double.random(in: 0..<1, using: &random) < share
    }

    func reply(to request: ReceivedRequest) -> ReceiverReply {
        if isStale, request.position > 1 { return .close }
        var reply = failure.map(Self.reply) ?? answer(to: request)
        if delayMilliseconds > 0, failure != .hang { reply.hold = .milliseconds(delayMilliseconds) }
        return reply
    }

    private static func reply(_ failure: Failure) -> ReceiverReply {
        switch failure {
        case .hang: .hang
        case .close: .close
        case .reset: .reset
        case .refuse: .refuse
        case .flood(let flood): flood.reply
        case .garbage: .thenClose(.raw("\u{1}\u{2}This is no HTTP.\r\n\r\n"))
        }
    }

    private func answer(to request: ReceivedRequest) -> ReceiverReply {
        var headers = headers
        var bytes: [UInt8] = []
        var repeating: [UInt8] = []
        switch body {
        case .bytes(let given): bytes = given
        case .endless: repeating = [UInt8](repeating: UInt8(ascii: "x"), count: 16_384)
        case .echo:
            bytes = request.body
            if let type = request.header("content-type") { headers.append(("content-type", type)) }
        }
        if isLastOnConnection { headers.append(("connection", "close")) }
        if isCompressed {
            bytes = Gzip.compress(bytes)
            headers.append(("content-encoding", "gzip"))
        }
        var answer = ReceiverReply.Answer(
            status: status ?? 200, headers: headers,
            body: ReplyBody(
                cut.map { Array(bytes.prefix($0)) } ?? bytes, repeating: repeating, dripMilliseconds: dripMilliseconds))
        // Declares bytes that are never sent, so that the body is truncated whatever its length.
        if let cut, repeating.isEmpty { answer.announcedLength = max(bytes.count, cut + 1) }
        return ReceiverReply(
            content: .answer(answer), end: isLastOnConnection || cut != nil ? .close : .keepOpen)
    }
}

/// The script of a path: its steps in order.
struct ReplyScript: Sendable {
    var steps = [ReplyStep()]
    /// Requests with different values of this header are counted separately.
    var countsPer: String?
    /// The response to a CloudEvents handshake; `nil` for the requested origin.
    var allowedOrigin: String?
    var allowedRate: String?
    var rate = RateLimit()
    var work = WorkLimit()
    /// All paths with this setting share their limits.
    var isTogether = false

    var lastStep: ReplyStep {
        get { steps[steps.count - 1] }
        set { steps[steps.count - 1] = newValue }
    }

    /// Whether replies do not depend on earlier requests.
    var isSimple: Bool {
        steps.count == 1 && !lastStep.isConditional && rate.perSecond == nil && work.workers == nil
    }

    /// The step for a request: the first whose condition holds, or whose turn it is.
    /// - Parameters:
    ///   - number: the number of the request, from 1.
    ///   - seconds: since the first request.
    func step(for number: Int, seconds: Double, _ random: inout SeededRandom) -> ReplyStep {
        var last = 0
        for step in steps {
            if step.isConditional {
                if step.applies(after: seconds, &random) { return step }
            } else {
                last += step.times
                if number <= last { return step }
            }
        }
        return steps.last { !$0.isConditional } ?? ReplyStep()
    }
}
