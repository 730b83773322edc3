import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

@testable import HeraldCLI

/// Runs the SQL and the programs of `Documentation/guide/transactions.md`.
@Suite("The guide to transactions", .enabled(if: TestStore.isFolder), .timeLimit(.minutes(20)))
struct TransactionPageTests {
    private struct Block {
        let language: String
        let text: String
    }

    private static func blocks() throws -> [Block] {
        let root = #filePath.split(separator: "/").dropLast(3).reduce("/") { $0 + $1 + "/" }
        let page = String(decoding: try Files.read(root + "Documentation/guide/transactions.md"), as: UTF8.self)
        return page.components("```").enumerated().filter { $0.offset % 2 == 1 }.map { _, text in
            let language = text.prefix { !$0.isNewline }
            return Block(language: String(language), text: String(text.dropFirst(language.count + 1)))
        }
    }

    /// The program that runs the blocks of a language, a check that its driver is installed, and the name of a file.
    private static let languages: [(name: String, program: String, check: [String], file: String)] = [
        ("python", "/usr/bin/python3", ["-c", "import psycopg2"], "pay.py"),
        ("php", "php", ["-r", "exit(function_exists('pg_connect') ? 0 : 1);"], "pay.php"),
        ("ruby", "ruby", ["-e", "require 'pg'"], "pay.rb"),
    ]

    @Test("its programs publish what they commit, in three languages, and its drains the rows and messages")
    func page() async throws {
        let server = try PostgresServer(["wal_level=logical"])
        let url = try server.makeDatabase()
        let herald = try await HeraldProcess.start(
            command: ["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--store", url],
            adminKey: MadeKey.admin.text)
        _ = try await herald.post("/v1/apps", #"{"name": "shop"}"#)
        let key = try await herald.post("/v1/keys", #"{"name": "drain", "app": "shop", "scopes": ["publish"]}"#).string(
            "key")
        // Of the role `herald`, tables without a schema would be those of Herald's schema.
        let inPublic = "SET search_path = public"
        try server.sql(
            each: [
                inPublic, "CREATE ROLE shop_role LOGIN", "CREATE ROLE drain_role LOGIN",
                "CREATE TABLE orders (id int PRIMARY KEY, paid boolean NOT NULL)",
                "GRANT SELECT, UPDATE ON orders TO shop_role",
                "INSERT INTO orders SELECT n, false FROM generate_series(1000, 1005) AS n",
            ], url)
        let blocks = try Self.blocks()
        let statements = blocks.filter { $0.language == "sql" }.map(\.text)
        for text in statements.filter({ !$0.hasPrefix("BEGIN") }) {
            try server.sql(each: [inPublic] + text.split(separator: ";\n").map(String.init), url)
        }
        for text in statements.filter({ $0.hasPrefix("BEGIN") }) {
            try server.sql(each: ["SET SESSION AUTHORIZATION shop_role", text], url)
        }
        var expected = ["order:1000"]
        for (offset, language) in Self.languages.enumerated() {
            let isThere =
                try? await ChildProcess.run(language.program, language.check).end == .exited(0)
            // CI has installed all of them.
            if isThere != true {
                #expect(getenv("CI") == nil, "\(language.name) is not installed")
                continue
            }
            let block = try #require(blocks.first { $0.language == language.name })
            let file = herald.folder.path + "/" + language.file
            try Files.write(Array(block.text.utf8), to: file)
            let order = String(1001 + offset)
            for (number, end) in [(order, true), (order, false), ("9999", false)] {
                let (found, text) = try await ChildProcess.run(
                    language.program, [file, number, "12.5"],
                    environment: ["DATABASE_URL": url.replacing("postgres://herald@", with: "postgres://shop_role@")])
                #expect((found == .exited(0)) == end, "\(language.name): \(text)")
                if !end { #expect(text.contains("order \(number) cannot be paid"), "\(language.name): \(text)") }
            }
            expected.append("order:\(order)")
        }
        let count = expected.count
        _ = try await herald.get("/v1/events", ["Herald-App": "shop"]) { $0.data.count == count }
        for flags in [["--table", "outbox"], ["--messages", "herald_slot"]] {
            let address = url.replacing("postgres://herald@", with: "postgres://drain_role@")
            let (end, text) = try await Binary.run(
                ["drain", address, "--once"] + flags,
                environment: [
                    "HERALD_SERVER": herald.url, "HERALD_KEY": key ?? "",
                    "XDG_CONFIG_HOME": "/nonexistent",
                ])
            #expect(end == .exited(0) && text.hasSuffix("1 event was published."), "\(text)")
        }
        let log = try await herald.get("/v1/events", ["Herald-App": "shop"]).data.reversed()
        #expect(log.map { $0.text("subject") } == expected + ["order:1004", "order:1005"])
        #expect(log.allSatisfy { $0.text("type") == "order.paid" && $0["data"]?["amount"]?.compactText == "12.5" })
        #expect(try server.sql("SELECT count(*) FROM public.orders WHERE paid", url).hasPrefix("\(expected.count + 2)"))
    }
}

extension String {
    /// The parts between a separator.
    fileprivate func components(_ separator: String) -> [String] {
        split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }
}
