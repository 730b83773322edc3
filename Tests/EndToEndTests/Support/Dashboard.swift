import Glibc
import HeraldTestSupport
import Testing

/// The dashboard in a browser.
enum Dashboard {
    /// The steps are in Tests/Dashboard: Selenium and axe-core come from PyPI.
    static func drive(_ script: String, _ arguments: String...) async throws {
        let venv = try #require(getenv("HERALD_VENV").map { String(cString: $0) })
        let folder = #filePath.split(separator: "/").dropLast(3).reduce("/") { $0 + $1 + "/" } + "Dashboard/"
        let result = try await ChildProcess.run(
            venv + "/bin/python3", ["-B", folder + script] + arguments)
        // The page can be long: the condition that failed is before it.
        if result.end != .exited(0) { Issue.record("\(result.text.prefix(4000)) […] \(result.text.suffix(2000))") }
    }

    /// `script/bootstrap --test` installs all of it.
    static var hasBrowser: Bool {
        guard let venv = getenv("HERALD_VENV").map({ String(cString: $0) }) else { return false }
        let programs: [String] = ["/usr/bin/chromium", "/usr/bin/chromedriver", venv + "/bin/python3"]
        return programs.allSatisfy { access($0, X_OK) == 0 }
    }
}
