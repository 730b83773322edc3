import HeraldRuntime
import Synchronization

/// Creates identifiers that sort by time: a prefix and 26 characters of Crockford's base 32 (48 bits of milliseconds,
/// 80 random bits; https://github.com/ulid/spec).
///
/// Within a millisecond, the ids of one app count up from random bits of its own; all others are random. So ids reveal
/// nothing to an app about ids created for other apps.
///
/// Any thread. The lock is held for a few instructions.
package final class ULIDGenerator: Sendable {
    private struct Number {
        var time: Int64 = -1
        var high: UInt16 = 0
        var low: UInt64 = 0

        /// - Returns: the new number.
        mutating func advance(to now: Int64, _ random: inout RandomBlock) -> Number {
            if now > time {
                time = now
                // 79 bits, so that counting up can't overflow within one millisecond.
                high = UInt16(truncatingIfNeeded: random.next() & 0x7fff)
                low = random.next()
            } else {
                // The same millisecond, or the clock went back: the time stays, the random part counts up.
                let (sum, overflow) = low.addingReportingOverflow(1)
                low = sum
                if overflow { high &+= 1 }
            }
            return self
        }
    }
    private struct State {
        var last: [AppKey: Number] = [:]
        var random = RandomBlock()
    }
    /// The number of apps whose last id is remembered: more than the limit of apps. Beyond it, all are dropped, which
    /// may lose the order within a millisecond.
    private static let apps = 2_048
    private let state = Mutex(State())

    package init() {}

    /// An id that sorts by its millisecond, and reveals nothing else.
    /// - Parameters:
    ///   - prefix: such as `req_`; ASCII.
    ///   - time: milliseconds since 1970 UTC.
    package func next(_ prefix: StaticString, time: Int64) -> String {
        let (high, low) = state.withLock { state in
            (UInt16(truncatingIfNeeded: state.random.next()), state.random.next())
        }
        return Self.text(prefix, time: time, high: high, low: low)
    }

    /// An id that sorts after all earlier ones of the app.
    /// - Parameters:
    ///   - prefix: such as `evt_`; ASCII.
    ///   - time: milliseconds since 1970 UTC.
    package func next(_ prefix: StaticString, time: Int64, of app: AppKey) -> String {
        let next = state.withLock { state in
            if state.last.count > Self.apps { state.last.removeAll() }
            return state.last[app, default: Number()].advance(to: time, &state.random)
        }
        return Self.text(prefix, time: next.time, high: next.high, low: next.low)
    }

    /// The text of 48 bits of time and 80 other bits.
    package static func text(_ prefix: StaticString, time: Int64, high: UInt16, low: UInt64) -> String {
        let count = prefix.utf8CodeUnitCount
        return String(unsafeUninitializedCapacity: count + 26) { buffer in
            guard var digit = buffer.baseAddress else { return 0 }
            digit.initialize(from: prefix.utf8Start, count: count)
            digit += count + 26
            // 128 bits as 26 digits of 5 bits, the most significant (3 bits) first.
            var upper = UInt64(bitPattern: time) << 16 | UInt64(high)
            var lower = low
            for _ in 0..<26 {
                digit -= 1
                digit.initialize(to: alphabet[Int(lower & 31)])
                lower = lower >> 5 | upper << 59
                upper >>= 5
            }
            return count + 26
        }
    }

    /// The 48 bits of time and 80 other bits of 26 upper-case digits; `nil` if they are not a ULID.
    package static func parts(of digits: some Collection<UInt8>) -> (time: Int64, high: UInt16, low: UInt64)? {
        guard digits.count == 26, let first = digits.first, first <= UInt8(ascii: "7") else { return nil }
        var (upper, lower) = (UInt64(0), UInt64(0))
        for digit in digits {
            guard let value = alphabet.indices.first(where: { alphabet[$0] == digit }) else { return nil }
            upper = upper << 5 | lower >> 59
            lower = lower << 5 | UInt64(value)
        }
        return (Int64(upper >> 16), UInt16(truncatingIfNeeded: upper), lower)
    }
}

private let alphabet: InlineArray<32, UInt8> = [
    48, 49, 50, 51, 52, 53, 54, 55, 56, 57,  // 0-9
    65, 66, 67, 68, 69, 70, 71, 72,  // A-H
    74, 75, 77, 78, 80, 81, 82, 83, 84,  // J K M N P-T
    86, 87, 88, 89, 90,  // V-Z
]
