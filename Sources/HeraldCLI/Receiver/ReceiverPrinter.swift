import HeraldCrypto
import HeraldReceiver

/// Prints received requests to standard output. Any thread.
struct ReceiverPrinter: Sendable {
    enum Amount { case full, brief, nothing }

    let amount: Amount

    private static let maxBodyBytes = 16_384

    func printRequest(_ request: ReceivedRequest, _ verdict: SchemeVerdict?, _ reply: ReceiverReply) {
        switch amount {
        case .full: Self.write(full(request, verdict, reply))
        case .brief: Self.write(brief(request, verdict))
        case .nothing: break
        }
    }

    /// One call for the whole text, so that outputs are not mixed.
    static func write(_ text: String) {
        // A closed output is no reason to stop responding.
        _ = Output.write(Array((text + "\n").utf8), to: 1)
    }

    private func brief(_ request: ReceivedRequest, _ verdict: SchemeVerdict?) -> String {
        let words = [
            verdict.map(\.words) ?? "\(request.method) \(request.path)", request.header("webhook-id"),
            request.header("herald-attempt").map { "attempt \($0)" }, body(request),
        ]
        return words.compactMap { $0 }.joined(separator: " ").printable()
    }

    private func full(
        _ request: ReceivedRequest, _ verdict: SchemeVerdict?, _ reply: ReceiverReply
    ) -> String {
        var lines = [
            "\(request.method) \(request.path)  \(request.version.rawValue), connection \(request.connection)"
                + (verdict.map { ", \($0.words)" } ?? "") + " → \(reply)"
        ]
        for (name, value) in request.headers { lines.append("    \(name): \(value)") }
        if !request.body.isEmpty { lines += ["", body(request)] }
        return lines.map { $0.printable(keepsLines: true) }.joined(separator: "\n") + "\n"
    }

    private func body(_ request: ReceivedRequest) -> String {
        let text = String(decoding: request.body.prefix(Self.maxBodyBytes), as: UTF8.self)
        return request.body.count > Self.maxBodyBytes ? text + " … (\(request.body.count) bytes)" : text
    }
}

extension SchemeVerdict {
    /// One word that catches the eye, and the reason.
    fileprivate var words: String {
        switch self {
        case .verified: "verified"
        case .missing(let header): "UNSIGNED (no \(header))"
        case .malformed: "UNSIGNED (\(self))"
        case .stale(let seconds, _): "STALE (\(seconds) s)"
        case .forged: "FORGED (\(self))"
        }
    }
}
