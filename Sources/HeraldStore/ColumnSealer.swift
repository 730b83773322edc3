package import HeraldCrypto
package import HeraldModel

/// Encrypts what must not be readable on disk: secrets, extra headers and URLs of delegates, and remembered responses,
/// which may contain a secret. Each value is bound to its row and column. Without a key, values are stored unchanged.
///
/// A database is sealed as a whole or not at all, and keeps a proof of its key. The same values in all stores are sealed for the
/// same place, so that sealed bytes can move from one store to another.
package struct ColumnSealer: Sendable {
    /// The table, column and row of a value.
    package struct AssociatedData: Sendable {
        package let context: String

        package static func column(_ name: String, of table: String, row: Int64) -> AssociatedData {
            AssociatedData(context: "\(table)/\(name)/\(row)")
        }
        package static func answer(_ app: AppKey, key: String) -> AssociatedData {
            AssociatedData(context: "answers/body/\(app.rawValue)/\(key)")
        }
        package static let secret = AssociatedData(context: "server/secret")
        package static let proof = AssociatedData(context: "sealing/proof")
    }

    package let sealer: Sealer?

    /// - Parameter sealer: `nil` to store values unchanged.
    package init(sealer: Sealer?) { self.sealer = sealer }

    /// For tables without sealed columns.
    package static let none = ColumnSealer(sealer: nil)

    package func seal(_ bytes: [UInt8], _ place: AssociatedData) throws(StoreError) -> [UInt8] {
        guard let sealer else { return bytes }
        do {
            return try sealer.seal(bytes, context: place.context)
        } catch {
            throw .failed(reason: error.description)
        }
    }

    package func open(_ bytes: [UInt8], _ place: AssociatedData) throws(StoreError) -> [UInt8] {
        guard let sealer else { return bytes }
        do {
            return try sealer.open(bytes, context: place.context)
        } catch {
            throw Self.unreadable(place, error)
        }
    }

    /// The value concerns its row only: the store works.
    private static func unreadable(_ place: AssociatedData, _ error: SealError) -> StoreError {
        let cause =
            switch error {
            case .notSealed: "it is not sealed"
            case .otherKey: "it was sealed under another master key"
            case .damaged: "it is damaged, or was sealed for another column"
            }
        return .unreadable(reason: "the sealed value \(place.context) can't be opened: \(cause)")
    }

    /// For text columns: sealed bytes are stored in Base64.
    package func seal(text: String, _ place: AssociatedData) throws(StoreError) -> String {
        sealer == nil ? text : Base64.encode(try seal(Array(text.utf8), place))
    }

    package func open(text: String, _ place: AssociatedData) throws(StoreError) -> [UInt8] {
        guard sealer != nil else { return Array(text.utf8) }
        guard let sealed = Base64.decode(text) else {
            throw Self.unreadable(place, .notSealed)
        }
        return try open(sealed, place)
    }
}

extension ColumnSealer {
    /// The server's own secret.
    /// - Parameter stored: the secret as it is stored.
    package func secret(_ stored: [UInt8]) throws(StoreError) -> ServerSecret {
        let bytes = try open(stored, .secret)
        guard bytes.count == ServerSecret.byteCount else {
            throw .unreadable(reason: "the server's secret has the wrong length")
        }
        return ServerSecret(bytes: bytes)
    }
}

/// The proof of the key, with which a store checks the key at the start.
extension ColumnSealer {
    /// This text is sealed.
    private static let proof = Array("herald".utf8)

    /// Returns the proof that a sealed store keeps of its key.
    package func makeProof() throws(StoreError) -> [UInt8] { try seal(Self.proof, .proof) }

    /// - Parameters:
    ///   - proof: what a sealed store has kept.
    ///   - path: the store, for errors.
    /// - Throws: `.sealed` if it was sealed with another key, or if there is none.
    package func check(_ proof: [UInt8], path: String) throws(StoreError) {
        guard let sealer else { throw .sealed(path: path, reason: "and no key was given") }
        do {
            _ = try sealer.open(proof, context: AssociatedData.proof.context)
        } catch .otherKey {
            throw .sealed(path: path, reason: "under another key than the one that was given")
        } catch {
            throw .corrupt(path: path, reason: error.description)
        }
    }
}

extension ErasedSubject {
    /// Whether a stored response may name the subject: one that does not open can't be shown to lack it.
    package func mayBeNamed(
        in sealed: [UInt8], _ place: ColumnSealer.AssociatedData, _ sealer: ColumnSealer
    ) -> Bool {
        (try? sealer.open(sealed, place)).map { isNamed(in: $0) } ?? true
    }
}
