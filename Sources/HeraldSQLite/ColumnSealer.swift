import HeraldCore
import HeraldCrypto

/// Encrypts what must not be readable on disk: secrets, extra headers and URLs of delegates, and remembered responses,
/// which may contain a secret. Each value is bound to its row and column. Without a key, values are stored unchanged.
///
/// A database is sealed as a whole or not at all; the row of `sealing` records which.
struct ColumnSealer {
    /// The table, column and row of a value.
    struct AssociatedData {
        let context: String

        static func secrets(_ key: DelegateKey) -> AssociatedData {
            AssociatedData(context: "delegates/secrets/\(key)")
        }
        static func url(_ key: DelegateKey) -> AssociatedData { AssociatedData(context: "delegates/url/\(key)") }
        static func headers(_ key: DelegateKey) -> AssociatedData {
            AssociatedData(context: "delegates/headers/\(key)")
        }
        static func tls(_ key: DelegateKey) -> AssociatedData { AssociatedData(context: "delegates/tls/\(key)") }
        static func answer(_ app: AppKey, key: String) -> AssociatedData {
            AssociatedData(context: "answers/body/\(app.rawValue)/\(key)")
        }
        static let secret = AssociatedData(context: "server/secret")
        static let proof = AssociatedData(context: "sealing/proof")
    }

    let sealer: Sealer?

    /// For tables without sealed columns.
    static let none = ColumnSealer(sealer: nil)

    func seal(_ bytes: [UInt8], _ place: AssociatedData) throws(StoreError) -> [UInt8] {
        guard let sealer else { return bytes }
        do {
            return try sealer.seal(bytes, context: place.context)
        } catch {
            throw .failed(reason: error.description)
        }
    }

    func open(_ bytes: [UInt8], _ place: AssociatedData) throws(StoreError) -> [UInt8] {
        guard let sealer else { return bytes }
        do {
            return try sealer.open(bytes, context: place.context)
        } catch {
            throw .failed(reason: "\(place.context): \(error.description)")
        }
    }

    /// For text columns: sealed bytes are stored in Base64.
    func seal(text: String, _ place: AssociatedData) throws(StoreError) -> String {
        sealer == nil ? text : Base64.encode(try seal(Array(text.utf8), place))
    }

    func open(text: String, _ place: AssociatedData) throws(StoreError) -> [UInt8] {
        guard sealer != nil else { return Array(text.utf8) }
        guard let sealed = Base64.decode(text) else {
            throw .failed(reason: "\(place.context): \(SealError.notSealed.description)")
        }
        return try open(sealed, place)
    }
}
