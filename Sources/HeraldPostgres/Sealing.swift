import HeraldModel
import HeraldStore

/// Whether the secrets in the database are encrypted, and with which key; and the server's own secret. The writer's thread.
enum Sealing {
    private static let found = Statement("SELECT secret, proof FROM server")
    private static let setSecret = Statement("UPDATE server SET secret = $1 WHERE secret IS NULL")
    private static let setProof = Statement("UPDATE server SET secret = $1, proof = $2")

    /// Checks the key, encrypts a database that gets its first one, and makes the secret.
    static func open(_ writer: Writer) throws(StoreError) {
        try Migration.alone(writer) { () throws(StoreError) in try openAlone(writer) }
    }

    /// Checks the key. Changes nothing.
    /// - Returns: the server's own secret as it is stored, if it was made, and whether the database is encrypted.
    static func check(_ writer: Writer) throws(StoreError) -> (secret: [UInt8]?, isSealed: Bool) {
        guard let row = try writer.run(Request(found)).first else {
            throw .corrupt(path: writer.database.label, reason: "the table server is empty")
        }
        if !row.isNull(1) { try writer.sealer.check(row.bytes(1), path: writer.database.label) }
        return (row.isNull(0) ? nil : row.bytes(0), !row.isNull(1))
    }

    private static let proof = Statement("SELECT proof FROM server FOR SHARE")

    /// Checks the key again, once others see this process: one of them may have encrypted the database since. It counts the others
    /// after it has changed this row, and this waits for the row, so one of the two finds the other.
    static func checkAgain(_ writer: Writer) throws(StoreError) {
        guard let row = try writer.run(Request(proof)).first, !row.isNull(0) else { return }
        try writer.sealer.check(row.bytes(0), path: writer.database.label)
    }

    private static func openAlone(_ writer: Writer) throws(StoreError) {
        let (secret, isSealed) = try check(writer)
        let sealer = writer.sealer
        if !isSealed, sealer.sealer != nil { return try seal(writer, secret ?? ServerSecret().bytes) }
        if secret == nil {
            let secret = try sealer.seal(ServerSecret().bytes, .secret)
            _ = try writer.run(Request(setSecret) { $0.add(secret) })
        }
    }

    static func secret(_ writer: Writer) throws(StoreError) -> ServerSecret {
        try writer.sealer.secret(try writer.run(Request(found)).first?.bytes(0) ?? [])
    }

    private static let delegates: Statement = {
        let names = DelegateColumns.table.sealed.map(\.name).joined(separator: ", ")
        return Statement("SELECT key, \(names) FROM delegates WHERE deleted_at IS NULL")
    }()
    private static let setDelegate: Statement = {
        let changes = DelegateColumns.table.sealed.enumerated().map { "\($1.name) = $\($0 + 2)" }
        return Statement("UPDATE delegates SET \(changes.joined(separator: ", ")) WHERE key = $1")
    }()
    private static let answers = Statement(
        "SELECT app, key, body FROM answers WHERE (app, key) > ($1, $2) ORDER BY app, key LIMIT $3")
    private static let setAnswer = Statement("UPDATE answers SET body = $3 WHERE app = $1 AND key = $2")

    /// The number of rows that are encrypted at once: each page has the time of a message, and memory holds one page of responses.
    static let page = 250

    /// A node without the key could not read what is encrypted, and would write values that are not.
    private static func refuseNodes(_ writer: Writer) throws(StoreError) {
        for _ in 0..<10 {
            if try writer.run(Request(Writer.countPresent)).integer == 0 { return }
            // The session of a process that has just ended may live for a moment.
            writer.pause(milliseconds: 100)
        }
        throw .inUse(path: writer.database.label, holder: "a node without the master key")
    }

    /// Encrypts everything, in the transaction that was begun.
    private static func seal(_ writer: Writer, _ secret: [UInt8]) throws(StoreError) {
        try refuseNodes(writer)
        try sealDelegates(writer)
        try sealAnswers(writer)
        let (sealed, proof) = (try writer.sealer.seal(secret, .secret), try writer.sealer.makeProof())
        _ = try writer.run(Request(setProof) { $0.add(sealed, proof) })
        // Nodes may have come since: see `checkAgain`.
        try refuseNodes(writer)
    }

    private static func sealDelegates(_ writer: Writer) throws(StoreError) {
        let sealer = writer.sealer
        var changes: [Request] = []
        for row in try writer.run([Request(delegates)], seconds: Database.readSeconds)[0].all {
            if changes.count == page {
                _ = try writer.run(changes)
                changes = []
            }
            let key = row.integer(0)
            var parameters = Parameters()
            parameters.add(key)
            for (index, column) in DelegateColumns.table.sealed.enumerated() {
                let value = row.value(Int32(index) + 1)
                parameters.add(try sealer.seal(value, .column(column.name, of: "delegates", row: key)))
            }
            changes.append(Request(setDelegate, parameters))
        }
        _ = try writer.run(changes)
    }

    private static func sealAnswers(_ writer: Writer) throws(StoreError) {
        var last = (app: AppKey(rawValue: .min), key: "")
        while true {
            let rows = try writer.run(Request(answers) { $0.add(last.app, last.key, page) })
            let found = try rows.map { (app: AppKey(rawValue: $0.integer(0)), key: $0.text(1), body: $0.bytes(2)) }
            var changes: [Request] = []
            for (app, key, body) in found {
                let sealed = try writer.sealer.seal(body, .answer(app, key: key))
                changes.append(Request(setAnswer) { $0.add(app, key, sealed) })
            }
            _ = try writer.run(changes)
            guard found.count == page, let end = found.last else { return }
            last = (end.app, end.key)
        }
    }
}
