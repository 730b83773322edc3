import HeraldHTTP
import HeraldJSON

/// An error response (RFC 9457).
struct Problem {
    let status: Int
    /// The last segment of its type; `nil` if the response is not a problem document.
    let name: String?
    let title: String
    let detail: String?
    /// Invalid fields and parameters, with the reason.
    var errors: [(place: String, detail: String)]
    /// Seconds.
    let retryAfter: Int?
    /// Where a redirect leads.
    let location: String?
    let server: String
    let hasKey: Bool
    let command: Command?

    init(_ answer: HTTPResponse, to client: APIClient) {
        status = answer.status
        server = client.server
        hasKey = client.hasKey
        command = client.command
        retryAfter = answer.header("retry-after").flatMap { Int($0) }
        location = (300..<400).contains(answer.status) ? answer.header("location") : nil
        let isProblem = answer.header("content-type")?.hasPrefix("application/problem+json") == true
        let json = isProblem ? try? JSONDocument(parsing: answer.body) : nil
        name = json?["type"]?.string?.split(separator: "/").last.map(String.init)
        title = json?["title"]?.string ?? ""
        detail = json?["detail"]?.string
        errors = (json?.root.list("errors") ?? []).map {
            ($0["pointer"]?.string ?? $0["parameter"]?.string ?? "", $0["detail"]?.string ?? "")
        }
    }

    /// The event of a batch that a pointer names, by its index, and the rest of the pointer.
    static func event(at pointer: String, of count: Int) -> (index: Int, rest: Substring?)? {
        let parts = pointer.split(separator: "/", maxSplits: 1)
        guard pointer.hasPrefix("/"), let first = parts.first, let index = Int(first), (0..<count).contains(index)
        else { return nil }
        return (index, parts.count == 2 ? parts[1] : nil)
    }

    /// Nothing was changed, and a later try may succeed.
    var isTemporary: Bool { status == 429 || status == 503 }

    var error: CommandError {
        var lines = [words]
        if let retryAfter { lines.append("Try again in \(retryAfter) s.") }
        return CommandError(lines.joined(separator: "\n").printable(keepsLines: true), exitCode: exitCode)
    }

    private var exitCode: Int32 {
        switch status {
        case _ where isTemporary: ExitCode.temporary
        case 500...: ExitCode.software
        default: ExitCode.refused
        }
    }
}
