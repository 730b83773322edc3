import HTTPClient
import JSON

/// An answer that is no success, in words (RFC 9457).
struct Problem {
    let status: Int
    let title: String
    let detail: String?
    /// What is wrong with which field or parameter.
    var errors: [(place: String, detail: String)]
    /// Seconds.
    let retryAfter: Int?
    private let server: String

    init(_ answer: HTTPAnswer, from server: String) {
        status = answer.status
        self.server = server
        retryAfter = answer.header("retry-after").flatMap { Int($0) }
        let isProblem = answer.header("content-type")?.hasPrefix("application/problem+json") == true
        let json = isProblem ? try? JSONDocument(parsing: answer.body) : nil
        title = json?["title"]?.string ?? "\(server) answered \(answer.status)"
        detail = json?["detail"]?.string
        errors = (json?["errors"].map { Array($0.elements) } ?? []).map {
            ($0["pointer"]?.string ?? $0["parameter"]?.string ?? "", $0["detail"]?.string ?? "")
        }
    }

    /// Nothing was done, and later it may be.
    var isTemporary: Bool { status == 429 || status == 503 }

    var error: CommandError {
        var lines = [title.printable() + (detail.map { ": " + $0.printable() } ?? ".")]
        lines += errors.map { "  \($0.place.isEmpty ? "the whole" : $0.place) \($0.detail)".printable() }
        if let retryAfter { lines.append("Try again in \(retryAfter) s.") }
        return CommandError(description: lines.joined(separator: "\n"), exitCode: exitCode)
    }

    private var exitCode: Int32 {
        switch status {
        case _ where isTemporary: ExitCode.temporary
        case 500...: ExitCode.software
        default: ExitCode.refused
        }
    }
}
