/// The result of one check of `herald doctor`.
struct Finding: Sendable, Equatable {
    enum State: String, Sendable {
        case ok
        /// The server runs, but not as well or as safely as it could.
        case warning
        /// The server does not start, or a part of it does not work.
        case failure
    }

    /// The subject, in one word.
    let check: String
    let state: State
    let text: String
    /// The remedy; `nil` if nothing is to do.
    var advice: String?

    static func ok(_ check: String, _ text: String) -> Finding {
        Finding(check: check, state: .ok, text: text)
    }

    static func warning(_ check: String, _ text: String, _ advice: String) -> Finding {
        Finding(check: check, state: .warning, text: text, advice: advice)
    }

    static func failure(_ check: String, _ text: String, _ advice: String) -> Finding {
        Finding(check: check, state: .failure, text: text, advice: advice)
    }

    /// The columns of the state and of the check in the text.
    private static let widths = (state: 8, check: 12)

    /// The line for a terminal, and a second one for the advice.
    var lines: [String] {
        func column(_ text: String, _ width: Int) -> String {
            text + String(repeating: " ", count: max(1, width - text.count))
        }
        let line = column(state.rawValue, Self.widths.state) + column(check, Self.widths.check) + text
        let indent = String(repeating: " ", count: Self.widths.state + Self.widths.check)
        return [line] + (advice.map { ["\(indent)to do: \($0)"] } ?? [])
    }
}

struct Report: Sendable {
    private(set) var findings: [Finding] = []

    mutating func add(_ finding: Finding) { findings.append(finding) }

    func count(_ state: Finding.State) -> Int { findings.count { $0.state == state } }

    var exitCode: Int32 { count(.failure) > 0 ? 2 : count(.warning) > 0 ? 1 : 0 }
}
