/// One word of the script language. It is used in a path (`/status/503`), in a query (`?status=503`) or in a JSON
/// script (`{"status": 503}`), with the same meaning.
package struct Directive: Sendable {
    package let name: String
    /// The value's placeholder in the help; `nil` if it takes none.
    package let placeholder: String?
    package let help: String
    let apply: @Sendable (String, inout ReplyScript) throws(Disallowed) -> Void

    struct Disallowed: Error {
        let allowed: String
    }

    static func named(_ name: String) -> Directive? { byName[name] }

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// Its usage text: `/status/CODE`.
    package var usage: String { "/" + name + (placeholder.map { "/" + $0 } ?? "") }

    private init(
        _ name: String, _ placeholder: String?, _ help: String,
        _ apply: @escaping @Sendable (String, inout ReplyScript) throws(Disallowed) -> Void
    ) {
        self.name = name
        self.placeholder = placeholder
        self.help = help
        self.apply = apply
    }
}

extension Directive {
    /// The whole language. The command's help is made from this list.
    package static let all: [Directive] = [
        // The response.
        Directive("status", "CODE", "Responds with this status instead of 200.") {
            text, script throws(Disallowed) in script.lastStep.status = try number(text, 200...599)
        },
        Directive("header", "NAME:VALUE", "Adds a header. May be given again.") { text, script throws(Disallowed) in
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, isPrintable(text), !parts[0].contains(" ") else {
                throw Disallowed(allowed: "a name and a value, as in x-color:blue")
            }
            script.lastStep.headers.append((String(parts[0]), String(parts[1].drop { $0 == " " })))
        },
        Directive("retry-after", "WHEN", "Adds the header Retry-After: seconds, or a date.") {
            text, script throws(Disallowed) in
            guard isPrintable(text) else { throw Disallowed(allowed: "seconds or a date") }
            script.lastStep.headers.append(("retry-after", text))
        },
        Directive("redirect", "URL", "Responds with 302, or the given status, and this Location.") {
            text, script throws(Disallowed) in
            guard isPrintable(text) else { throw Disallowed(allowed: "a URL") }
            script.lastStep.headers.append(("location", text))
            script.lastStep.status = script.lastStep.status ?? 302
        },
        Directive("body", "TEXT", "Responds with this body.") { text, script in
            script.lastStep.body = .bytes(Array(text.utf8))
        },
        Directive("size", "BYTES", "Responds with a body of this size.") { text, script throws(Disallowed) in
            let size = try number(text, 0...16_777_216)
            script.lastStep.body = .bytes([UInt8](repeating: UInt8(ascii: "x"), count: size))
        },
        Directive("echo", nil, "Responds with the body of the request, as a verification challenge requires.") {
            $1.lastStep.body = .echo
        },
        Directive("gzip", nil, "Compresses the body.") { $1.lastStep.isCompressed = true },
        Directive("endless", nil, "Responds with a body that never ends.") { $1.lastStep.body = .endless },
        Directive("last", nil, "Closes the connection after the response.") { $1.lastStep.isLastOnConnection = true },
        // Delays and faults.
        Directive("delay", "SECONDS", "Waits before it responds or fails, up to 3600; 0.5 is half a second.") {
            text, script throws(Disallowed) in
            script.lastStep.delayMilliseconds = Int((try decimal(text, 0...3600) * 1000).rounded())
        },
        Directive("drip", "MILLISECONDS", "Sends one byte of the response at a time, with this pause in between.") {
            text, script throws(Disallowed) in script.lastStep.dripMilliseconds = try number(text, 1...60_000)
        },
        Directive("cut", "BYTES", "Closes the connection after this many bytes of the body of the response.") {
            text, script throws(Disallowed) in script.lastStep.cut = try number(text, 0...16_777_216)
        },
        Directive("garbage", nil, "Sends what is not HTTP, and closes.") { $1.lastStep.failure = .garbage },
        Directive("flood", "KIND", "Sends without end: \(floods).") {
            text, script throws(Disallowed) in
            guard let flood = ReceiverFlood(rawValue: text) else { throw Disallowed(allowed: floods) }
            script.lastStep.failure = .flood(flood)
        },
        Directive("hang", nil, "Never responds.") { $1.lastStep.failure = .hang },
        Directive("close", nil, "Closes the connection without a response.") { $1.lastStep.failure = .close },
        Directive("reset", nil, "Breaks the connection with a TCP reset.") { $1.lastStep.failure = .reset },
        Directive("refuse", nil, "HTTP/2: refuses the stream. HTTP/1.1: closes.") { $1.lastStep.failure = .refuse },
        Directive("stale", nil, "Responds to the first request of a connection; closes when the next one arrives.") {
            $1.lastStep.isStale = true
        },
        // Differences between requests.
        Directive("times", "NUMBER", "The directives so far are for this many requests; `then` follows.") {
            text, script throws(Disallowed) in script.lastStep.times = try number(text, 1...1_000_000)
        },
        Directive("then", "CODE", "After that, responds with this status; the next directives are for these responses.")
        {
            text, script throws(Disallowed) in
            guard script.steps.count < maxSteps else { throw Disallowed(allowed: "used less than \(maxSteps) times") }
            script.steps.append(ReplyStep(status: try number(text, 200...599)))
        },
        Directive(
            "flaky", "NUMBER",
            "Fails this many times, with 503 unless another failure is given, and then responds with 200."
        ) {
            text, script throws(Disallowed) in
            guard script.steps.count < maxSteps else { throw Disallowed(allowed: "used less than \(maxSteps) times") }
            script.lastStep.times = try number(text, 1...1_000_000)
            script.lastStep.status = script.lastStep.status ?? 503
            script.steps.append(ReplyStep())
        },
        Directive(
            "share", "PERCENT",
            "The directives so far are for this random share of the requests, `then` for the others."
        ) {
            text, script throws(Disallowed) in script.lastStep.share = try decimal(text, 0...100) / 100
        },
        Directive(
            "for", "SECONDS", "The directives so far are for the last seconds of each `every`, `then` for the others."
        ) {
            text, script throws(Disallowed) in script.lastStep.seconds = try decimal(text, 0...86_400)
        },
        Directive("every", "SECONDS", "The period of `for`. Default: 60.") {
            text, script throws(Disallowed) in script.lastStep.every = try decimal(text, 0.001...86_400)
        },
        Directive("per", "HEADER", "Counts requests separately for each value of this header, such as webhook-id.") {
            $1.countsPer = $0
        },
        // Limits. They apply to the whole path.
        Directive(
            "rate", "NUMBER",
            "Accepts this many requests per second, by a token bucket, and responds to others with 429."
        ) {
            text, script throws(Disallowed) in script.rate.perSecond = try decimal(text, 0.001...1_000_000)
        },
        Directive("burst", "NUMBER", "How many requests `rate` accepts at once. Default: 2.") {
            text, script throws(Disallowed) in script.rate.burst = Double(try number(text, 1...1_000_000))
        },
        Directive("window", "SECONDS", "Counts `rate` in fixed windows of this length, without a bucket.") {
            text, script throws(Disallowed) in script.rate.window = try decimal(text, 0.001...86_400)
        },
        Directive(
            "slow-start", "SECONDS", "After the first request, raises `rate` from a tenth to all of it in this time."
        ) {
            text, script throws(Disallowed) in script.rate.slowStart = try decimal(text, 0.001...86_400)
        },
        Directive("announce", nil, "Adds Retry-After to each 429 of `rate`.") { $1.rate.isAnnounced = true },
        Directive("workers", "NUMBER", "Works on this many requests at once, each for its `delay`; others wait.") {
            text, script throws(Disallowed) in script.work.workers = try number(text, 1...1000)
        },
        Directive("room", "NUMBER", "How many may wait for `workers`; others get 503. Default: no limit.") {
            text, script throws(Disallowed) in script.work.room = try number(text, 0...1_000_000)
        },
        Directive("strain", "NUMBER", "While more than this many wait for `workers`, each takes twice as long.") {
            text, script throws(Disallowed) in script.work.strain = try number(text, 0...1_000_000)
        },
        Directive("together", nil, "Shares these limits with all other paths that have this directive.") {
            $1.isTogether = true
        },
        // The handshake of CloudEvents: OPTIONS always gets it.
        Directive("allow-origin", "NAME", "WebHook-Allowed-Origin in the response to OPTIONS; `none` refuses.") {
            text, script throws(Disallowed) in
            guard isPrintable(text) else { throw Disallowed(allowed: "a host name, * or none") }
            script.allowedOrigin = text
        },
        Directive("allow-rate", "NUMBER", "WebHook-Allowed-Rate in the response to OPTIONS, per minute; `*`: any.") {
            text, script throws(Disallowed) in
            if text != "*" { _ = try number(text, 1...Int(Int32.max)) }
            script.allowedRate = text
        },
    ]

    static let maxSteps = 100

    private static let floods = ReceiverFlood.allCases.map(\.rawValue).joined(separator: ", ")

    private static func number(_ text: String, _ range: ClosedRange<Int>) throws(Disallowed) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw Disallowed(allowed: "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private static func decimal(_ text: String, _ range: ClosedRange<Double>) throws(Disallowed) -> Double {
        guard let number = Double(text), range.contains(number) else {
            throw Disallowed(allowed: "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private static func isPrintable(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 32 && $0 != 127 }
    }
}
