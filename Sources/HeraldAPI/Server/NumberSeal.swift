import HeraldCrypto
import HeraldModel

/// Encrypts numbers that are shared by all apps, such as positions in the log, so that an app can use them without
/// learning what others do.
///
/// A number becomes 26 characters, which only this server can decode, and only for this app; foreign and forged texts
/// are rejected. As in a ULID, the first 48 of 128 bits are open: a time, if there is one. The other 80 bits hold the
/// number (48 bits) and 32 zero bits that authenticate it. They go through six rounds of a Feistel network with AES,
/// bound to the open bits, the app and the kind of number. The key is in the store, so texts survive a restart. Any
/// thread.
struct NumberSeal: Sendable {
    /// The meaning of a number.
    enum Kind: UInt64 {
        case event = 1
        case delegate, attempt, replay, auditEntry, pendingEvent, refusedEvent
    }

    private static let rounds: UInt64 = 6
    private static let half: UInt64 = (1 << 40) - 1
    private static let open: UInt64 = (1 << 48) - 1

    private let cipher: BlockCipher

    init(_ secret: ServerSecret) {
        cipher = BlockCipher(key: SHA256.hash(Array("numbers".utf8) + secret.bytes))
    }

    /// - Parameters:
    ///   - number: 0 ..< 2⁴⁸.
    ///   - open: 48 readable bits; they also vary the encryption of the same number.
    func text(_ number: Int64, _ kind: Kind, of app: AppKey, open: Int64 = 0) -> String {
        let number = UInt64(truncatingIfNeeded: number) & Self.open
        let open = UInt64(truncatingIfNeeded: open) & Self.open
        var (left, right) = (number >> 8, (number & 0xff) << 32)
        for round in 0..<Self.rounds { (left, right) = (right, left ^ mask(right, round, kind, app, open)) }
        return ULIDGenerator.text(
            "", time: Int64(open), high: UInt16(truncatingIfNeeded: left >> 24), low: left << 40 | right)
    }

    /// `nil` if the text was not made by this server, or for another app or kind.
    func number(_ text: some StringProtocol, _ kind: Kind, of app: AppKey) -> Int64? {
        guard let parts = ULIDGenerator.parts(of: text.utf8) else { return nil }
        let open = UInt64(truncatingIfNeeded: parts.time)
        var (left, right) = (UInt64(parts.high) << 24 | parts.low >> 40, parts.low & Self.half)
        for round in (0..<Self.rounds).reversed() { (left, right) = (right ^ mask(left, round, kind, app, open), left) }
        guard right & ((1 << 32) - 1) == 0 else { return nil }
        return Int64(left << 8 | right >> 32)
    }

    private func mask(_ half: UInt64, _ round: UInt64, _ kind: Kind, _ app: AppKey, _ open: UInt64) -> UInt64 {
        let app = UInt64(UInt32(truncatingIfNeeded: app.rawValue))
        return cipher.prefix(kind.rawValue << 60 | round << 56 | app << 24 | open >> 24, open << 40 | half) & Self.half
    }
}

// MARK: What is shown so

extension NumberSeal {
    private static let attemptPrefix = "att_"
    private static let placePrefix = "@"

    /// `att_` and a text that sorts by the start of the attempt.
    func id(of attempt: StoredAttempt, app: AppKey) -> String {
        Self.attemptPrefix + text(attempt.id, .attempt, of: app, open: attempt.record.startedAt)
    }

    func attempt(_ id: String, app: AppKey) -> Int64? {
        id.hasPrefix(Self.attemptPrefix) ? number(id.dropFirst(Self.attemptPrefix.count), .attempt, of: app) : nil
    }

    func id(of replay: Replay, app: AppKey) -> String {
        text(replay.id, .replay, of: app, open: replay.createdAt)
    }

    /// For resuming a stream. The text of a position varies, so that it does not reveal whether the log has grown.
    func place(_ place: LogPosition, _ kind: Kind, of app: AppKey) -> String {
        Self.placePrefix + text(place, kind, of: app, open: .random(in: 0..<(1 << 48)))
    }

    func place(_ text: String, _ kind: Kind, of app: AppKey) -> LogPosition? {
        text.hasPrefix(Self.placePrefix) ? number(text.dropFirst(Self.placePrefix.count), kind, of: app) : nil
    }
}
