import HeraldCrypto
import HeraldModel
import HeraldStore
import HeraldTestSupport
import Testing

@testable import HeraldSQLite

@Suite("Encryption at rest")
struct SealingTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/data" }
    private var database: String { path + "/herald.db" }

    private func key(_ byte: UInt8) throws -> Sealer {
        Sealer(try MasterKey(bytes: Array(repeating: byte, count: MasterKey.byteCount)))
    }

    /// Values that must not be on the disk.
    private static let secrets = [
        "the signing secret", "the header's value", "whsec_in the answer", "the key of the certificate",
        "?token=in-the-url", "the secret of a recipe",
    ]

    private let webhook = WebhookDelegate(
        1, url: "https://example.com/hook" + SealingTests.secrets[4],
        secrets: [DelegateSecret(SigningSecret(bytes: Array(SealingTests.secrets[0].utf8)))]
    ) {
        $0.headers = [KeyValue("authorization", SealingTests.secrets[1])]
        $0.tls = TLSSettings(clientCertificate: "its certificate", clientKey: SealingTests.secrets[3])
        $0.request = Recipe(stored: Array(#"{"auth":{"basic":{"password":"\#(SealingTests.secrets[5])"}}}"#.utf8))
    }
    private let answer = StoredAnswer(
        fingerprint: [1], status: 201, headers: [KeyValue("location", "/")], body: Array(SealingTests.secrets[2].utf8))

    private func fill(_ store: SQLiteStore) throws {
        try store.transaction { (transaction) throws(StoreError) in
            try transaction.setDelegate(webhook)
            try transaction.setDelegate(WebhookDelegate(2))
            try transaction.removeDelegate(2, at: 5)
            for number in 0..<600 {
                try transaction.setAnswer(answer, app: .default, key: "k\(number)", expiresAt: 100)
            }
        }
    }

    /// Opens the store, finds all of it, and closes it.
    private func check(_ sealer: Sealer?, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let store = try SQLiteStore(folder: path, sealer: sealer)
        defer { store.close() }
        #expect(try store.recover().delegates.map(\.state) == [webhook.state], sourceLocation: sourceLocation)
        try store.transaction { (transaction) throws(StoreError) in
            for name in ["k0", "k599"] {
                #expect(
                    try transaction.answer(app: .default, key: name, now: 1) == answer, sourceLocation: sourceLocation)
            }
        }
    }

    /// Which secrets can be read in the files.
    private func readable() -> [String] {
        let files = (bytes(database) ?? []) + (bytes(database + "-wal") ?? [])
        return Self.secrets.filter { contains(files, $0) }
    }

    @Test("without a key secrets are readable, with one they are not")
    func sealed() throws {
        let plain = try SQLiteStore(folder: path)
        try fill(plain)
        plain.close()
        #expect(readable() == Self.secrets)
        try check(nil)

        let sealed = try SQLiteStore(folder: folder.path + "/sealed", sealer: try key(1))
        defer { sealed.close() }
        try fill(sealed)
        let files = [".db", ".db-wal"].flatMap { bytes(folder.path + "/sealed/herald\($0)") ?? [] }
        #expect(files.count > 100_000)
        #expect(Self.secrets.filter { contains(files, $0) } == [])
    }

    @Test("the same key opens them again")
    func again() throws {
        let store = try SQLiteStore(folder: path, sealer: try key(1))
        try fill(store)
        store.close()
        try check(try key(1))
        #expect(readable() == [])
    }

    @Test("a missing or wrong key is refused with what to do, and changes nothing")
    func otherKey() throws {
        try SQLiteStore(folder: path, sealer: try key(1)).close()
        let before = bytes(database)
        let missing = failure { _ = try SQLiteStore(folder: path) }
        #expect(missing == .sealed(path: database, reason: "and no key was given"))
        #expect(missing?.description.contains("HERALD_MASTER_KEY") == true)
        let other = failure { _ = try SQLiteStore(folder: path, sealer: try key(2)) }
        #expect(other == .sealed(path: database, reason: "under another key than the one that was given"))
        #expect(bytes(database) == before)
        let rewrapping = failure { try SQLiteStore.rewrap(folder: path, from: nil, to: try key(2)) }
        #expect(rewrapping == missing)
        try SQLiteStore(folder: path, sealer: try key(1)).close()
    }

    @Test("a first key encrypts existing values")
    func firstKey() throws {
        let store = try SQLiteStore(folder: path)
        try fill(store)
        store.close()
        try check(try key(1))
        #expect(readable() == [], "the old bytes are overwritten")
        try check(try key(1))
    }

    @Test("rewrap changes the key, removes it, and adds one")
    func rewrap() throws {
        let store = try SQLiteStore(folder: path, sealer: try key(1))
        try fill(store)
        #expect(throws: StoreError.self) { try SQLiteStore.rewrap(folder: path, from: try key(1), to: try key(2)) }
        store.close()

        try SQLiteStore.rewrap(folder: path, from: try key(1), to: try key(2))
        #expect(failure { try check(try key(1)) } != nil)
        try check(try key(2))
        #expect(readable() == [])

        try SQLiteStore.rewrap(folder: path, from: try key(2), to: nil)
        try check(nil)

        try SQLiteStore.rewrap(folder: path, from: nil, to: try key(3))
        try check(try key(3))
        #expect(readable() == [])
    }

    @Test("rewrap does not create a database")
    func rewrapNothing() throws {
        let error = failure { try SQLiteStore.rewrap(folder: path, from: nil, to: nil) }
        #expect(error == .notWritable(path: path, reason: "there is no database in it"))
        #expect(!exists(path))
    }

    @Test("a value that was moved to another column does not open")
    func moved() throws {
        let store = try SQLiteStore(folder: path, sealer: try key(1))
        defer { store.close() }
        try fill(store)
        try store.transaction { (transaction) throws(StoreError) in try transaction.setDelegate(WebhookDelegate(3)) }
        let connection = try #require(store.writer?.connection)
        try connection.execute(
            "UPDATE delegates SET secrets = (SELECT secrets FROM delegates WHERE key = 1) WHERE key = 3")
        let states = try store.recover().delegates.map(\.state)
        #expect(states.first == webhook.state && states.count == 2)
        #expect(states.last?.isUnreadable == true && states.last?.secrets == [])
    }

    @Test("a response that does not open concerns only the requests with its key, and the error names the row")
    func damagedResponse() throws {
        let store = try SQLiteStore(folder: path, sealer: try key(1))
        defer { store.close() }
        try fill(store)
        let connection = try #require(store.writer?.connection)
        let place = ColumnSealer.AssociatedData.answer(.default, key: "k5").context
        let table = place.prefix { $0 != "/" }
        try connection.execute("UPDATE \(table) SET body = x'00' WHERE key = 'k5'")
        let thrown = failure {
            try store.transaction { (transaction) throws(StoreError) in
                _ = try transaction.answer(app: .default, key: "k5", now: 1)
            }
        }
        guard case .unreadable(let reason)? = thrown else { throw Unexpected("\(String(describing: thrown))") }
        #expect(
            reason.contains(place) && reason.hasSuffix("in the table \(table), row 1, k5"), "\(reason)")
        try store.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.answer(app: .default, key: "k6", now: 1) == answer)
        }
    }

    @Test(
        "a value that cannot be read disables its delegate, whose reason names it, and costs no other",
        arguments: [
            ("secrets", "x'00'"), ("url", "'AAAA'"), ("headers", "'AAAA'"), ("tls", "'AAAA'"), ("request", "'AAAA'"),
            ("status", "''"), ("filter", "'x'"), ("events", "'1:'"), ("format", "'x'"), ("verification", "'x'"),
            ("metadata", "'x'"), ("retry_schedule", "'x'"),
        ])
    func damagedDelegate(_ column: String, _ value: String) throws {
        let store = try SQLiteStore(folder: path, sealer: try key(1))
        defer { store.close() }
        try fill(store)
        try store.transaction { (transaction) throws(StoreError) in try transaction.setDelegate(WebhookDelegate(3)) }
        let connection = try #require(store.writer?.connection)
        try connection.execute("UPDATE delegates SET \(column) = \(value) WHERE key = 1")
        let delegates = try store.recover().delegates
        #expect(delegates.map(\.key) == [1, 3] && delegates.map(\.state.isUnreadable) == [true, false])
        #expect(delegates.first?.state.statusReason == Reason.unreadable(column))
        guard let damaged = delegates.first else { return }
        // Only what its owner sets again is used: no default. The sender refuses the others.
        if !["secrets", "status", "url", "tls"].contains(column) {
            #expect(!WebhookRules.limitProblems(of: damaged.settings).isEmpty)
        }
        // What stands for the value can be written, and is read again.
        try store.transaction { (transaction) throws(StoreError) in try transaction.setDelegate(damaged) }
        #expect(try store.recover().delegates.first?.state == damaged.state)
    }

    @Test("an erasure removes a response that does not open, and one whose key is not UTF-8")
    func erasedResponses() throws {
        let store = try SQLiteStore(folder: path, sealer: try key(1))
        defer { store.close() }
        try fill(store)
        let connection = try #require(store.writer?.connection)
        let table = "answers"
        try connection.execute("UPDATE \(table) SET body = x'00' WHERE key = 'k5'")
        try connection.execute("UPDATE \(table) SET key = CAST(x'6b80' AS TEXT) WHERE key = 'k7'")
        try connection.execute("UPDATE \(table) SET key = CAST(x'6bff' AS TEXT) WHERE key = 'k9'")
        for removed in [3, 0] {
            try store.transaction { (transaction) throws(StoreError) in
                #expect(try transaction.eraseSubject("user:42", app: .default).answers == removed)
                #expect(try transaction.answer(app: .default, key: "k5", now: 1) == nil)
                #expect(try transaction.answer(app: .default, key: "k6", now: 1) == answer)
            }
        }
    }

    @Test("many delegates are read in the order of their keys, and one that does not open is found among them")
    func many() throws {
        let store = try SQLiteStore(folder: path, sealer: try key(1))
        defer { store.close() }
        let keys = (1...1_500).filter { $0 % 7 != 0 }.map(DelegateKey.init)
        try store.transaction { (transaction) throws(StoreError) in
            for key in keys { try transaction.setDelegate(WebhookDelegate(key)) }
            try transaction.setDelegate(WebhookDelegate(1_501))
            try transaction.removeDelegate(1_501, at: 5)
        }
        let recovery = try store.recover()
        #expect(recovery.delegates.map(\.key) == keys && recovery.nextDelegateKey == 1_502)
        let connection = try #require(store.writer?.connection)
        for damaged: DelegateKey in [1, 1_499] {
            try connection.execute("UPDATE delegates SET secrets = x'00' WHERE key = \(damaged)")
            #expect(try store.recover().delegates.filter { $0.state.isUnreadable }.map(\.key) == [damaged])
            try connection.execute("DELETE FROM delegates WHERE key = \(damaged)")
        }
        #expect(try store.recover().delegates.count == keys.count - 2)
    }
}
