import Foundation
import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("The package on other platforms", .timeLimit(.minutes(20)))
struct ElsewhereTests {
    private let folder = TemporaryFolder()

    private static let elsewhere = "Sources/Herald/Elsewhere/Elsewhere.swift"

    @Test("has both libraries, and nothing that needs Linux")
    func manifest() async throws {
        // What `#if os(Linux)` leaves out elsewhere.
        let manifest = try Repository.text("Package.swift").replacing("#if os(Linux)", with: "#if os(macOS)")
        try manifest.write(toFile: folder.path + "/Package.swift", atomically: true, encoding: .utf8)
        let (end, text) = try await ChildProcess.run(
            "swift", ["package", "--package-path", folder.path, "dump-package"])
        #expect(end == .exited(0), "\(text)")
        let json = try JSONDocument(parsing: String(text[try #require(text.firstIndex(of: "{"))...]))
        let products = try #require(json["products"]).elements.compactMap { $0["name"]?.string }
        #expect(products == ["Delegation", "Herald"])
        let targets = try #require(json["targets"]).elements.map {
            "\($0["name"]?.string ?? "") \($0["path"]?.string ?? "")"
        }
        // The functions of Swift's runtime are there for those who build for Linux on another platform.
        #expect(
            targets == ["Delegation ", "CDelegation Sources/C/CDelegation", "Herald Sources/Herald/Elsewhere"])
    }

    @Test("says why the hub is not available, for each type of the library")
    func types() async throws {
        let pattern = #/^public (?:final )?(?:struct|class|enum|protocol) (\w+)/#.anchorsMatchLineEndings()
        func names(_ text: String) -> Set<String> { Set(text.matches(of: pattern).map { String($0.1) }) }
        var types: Set<String> = []
        for module in ["Herald", "HeraldCore", "HeraldDelivery", "HeraldModel"] {
            let sources = Repository.root.appending(path: "Sources/\(module)").path
            for file in try FileManager.default.subpathsOfDirectory(atPath: sources)
            where file.hasSuffix(".swift") && !file.hasPrefix("Elsewhere/") {
                types.formUnion(names(try Repository.text("Sources/\(module)/\(file)")))
            }
        }
        let unavailable = names(try Repository.text(Self.elsewhere))
        #expect(types.count > 30 && unavailable == types)
        let use = folder.path + "/use.swift"
        try "func use(_ hub: Hub) async throws { try await withHub(folder: \"events\") { _ in } }".write(
            toFile: use, atomically: true, encoding: .utf8)
        let module = Repository.root.appending(path: Self.elsewhere).path
        let (end, text) = try await ChildProcess.run(
            "swiftc", ["-swift-version", "6", "-typecheck", module, use])
        #expect(end == .exited(1))
        #expect(text.contains("error: 'Hub' is unavailable: Herald runs on Linux."), "\(text)")
        #expect(text.contains("error: 'withHub(folder:options:grace:_:)' is unavailable: Herald runs on Linux."))
    }
}
