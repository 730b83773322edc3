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
        try secret(try writer.run(Request(found)).first?.bytes(0) ?? [], writer.sealer)
    }

    /// - Parameter stored: the secret as it is stored.
    static func secret(_ stored: [UInt8], _ sealer: ColumnSealer) throws(StoreError) -> ServerSecret {
        let bytes = try sealer.open(stored, .secret)
        guard bytes.count == ServerSecret.byteCount else {
            throw .unreadable(reason: "the server's secret has the wrong length")
        }
        return ServerSecret(bytes: bytes)
    }

    private static let delegates: Statement = {
        let names = DelegateColumns.table.sealed.map(\.name).joined(separator: ", ")
        return Statement("SELECT key, \(names) FROM delegates WHERE deleted_at IS NULL")
    }()
    private static let setDelegate: Statement = {
        let changes = DelegateColumns.table.sealed.enumerated().map { "\($1.name) = $\($0 + 2)" }
        return Statement("UPDATE delegates SET \(changes.joined(separator: ", ")) WHERE key = $1")
    }()
    private static let answers = Statement("SELECT app, key, body FROM answers")
    private static let setAnswer = Statement("UPDATE answers SET body = $3 WHERE app = $1 AND key = $2")

    /// Encrypts everything.
    private static func seal(_ writer: Writer, _ secret: [UInt8]) throws(StoreError) {
        let sealer = writer.sealer
        var changes: [Request] = []
        for row in try writer.run(Request(delegates)).map({ $0 }) {
            let key = row.integer(0)
            var parameters = Parameters()
            parameters.add(key)
            for (index, column) in DelegateColumns.table.sealed.enumerated() {
                let value = row.value(Int32(index) + 1)
                parameters.add(
                    try column.seal.map { place throws(StoreError) in try sealer.seal(value, place(key)) } ?? value)
            }
            changes.append(Request(setDelegate, parameters))
        }
        for row in try writer.run(Request(answers)).map({ $0 }) {
            let (app, key) = (AppKey(rawValue: row.integer(0)), row.text(1))
            let body = try sealer.seal(row.bytes(2), .answer(app, key: key))
            changes.append(Request(setAnswer) { $0.add(app, key, body) })
        }
        let (sealed, proof) = (try sealer.seal(secret, .secret), try sealer.makeProof())
        changes.append(Request(setProof) { $0.add(sealed, proof) })
        _ = try writer.run(changes)
    }
}
