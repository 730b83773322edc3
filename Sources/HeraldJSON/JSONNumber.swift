/// The decimal number of a text, without loss: `1`, `1.0` and `10e-1` are equal, and `9007199254740993` is greater than
/// `9007199254740992`.
///
/// Up to 19 significant digits it allocates nothing. Exponents are clamped to ±10¹⁵.
package struct JSONNumber: Hashable, Sendable {
    private var isNegative = false
    /// The significant digits, without zeros at either end, as a number; only the first 19 if there are more.
    private var significand: UInt64 = 0
    /// All significant digits, 0 to 9, if there are more than 19; otherwise empty.
    private var allDigits: [UInt8] = []
    /// The number of significant digits; 0 for zero.
    package private(set) var digitCount = 0
    /// The value is the digits times 10 to this power. 0 for zero.
    private var exponent = 0

    private static let maxShortDigits = 19
    private static let maxExponent = 1_000_000_000_000_000

    /// - Parameter text: a number according to the grammar of JSON.
    init(_ text: UnsafeBufferPointer<UInt8>) {
        var zeros = 0
        var fractionDigits = 0
        var isFraction = false
        var index = 0
        scan: while index < text.count {
            switch text[index] {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"): break scan
            case let character:
                if isFraction { fractionDigits += 1 }
                if character != UInt8(ascii: "0") {
                    for _ in 0..<zeros { append(0) }
                    append(character &- UInt8(ascii: "0"))
                    zeros = 0
                } else if digitCount > 0 {
                    zeros += 1
                }
            }
            index += 1
        }
        guard digitCount > 0 else {
            isNegative = false
            return
        }
        exponent = zeros - fractionDigits + Self.exponent(text[min(index + 1, text.count)...])
    }

    private static func exponent(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Int {
        var value = 0
        for character in text where character >= UInt8(ascii: "0") {
            value = min(value * 10 + Int(character - UInt8(ascii: "0")), maxExponent)
        }
        return text.first == UInt8(ascii: "-") ? -value : value
    }

    private mutating func append(_ digit: UInt8) {
        if digitCount < Self.maxShortDigits {
            significand = significand * 10 + UInt64(digit)
        } else {
            if digitCount == Self.maxShortDigits { allDigits = shortDigits }
            allDigits.append(digit)
        }
        digitCount += 1
    }

    private var shortDigits: [UInt8] {
        var digits: [UInt8] = []
        var rest = significand
        while rest > 0 {
            digits.append(UInt8(rest % 10))
            rest /= 10
        }
        return digits.reversed()
    }

    private var digits: [UInt8] { allDigits.isEmpty ? shortDigits : allDigits }
}

// MARK: - Order

extension JSONNumber: Comparable {
    package static func < (one: JSONNumber, two: JSONNumber) -> Bool {
        if one.isNegative != two.isNegative { return one.isNegative }
        return one.isNegative ? two.isSmaller(than: one) : one.isSmaller(than: two)
    }

    /// Ignoring the signs.
    private func isSmaller(than other: JSONNumber) -> Bool {
        guard digitCount > 0 && other.digitCount > 0 else { return digitCount < other.digitCount }
        let (mine, others) = (exponent + digitCount, other.exponent + other.digitCount)
        if mine != others { return mine < others }
        guard allDigits.isEmpty && other.allDigits.isEmpty else {
            return digits.lexicographicallyPrecedes(other.digits)
        }
        return leftAligned < other.leftAligned
    }

    /// The significand, padded with zeros to 19 digits.
    private var leftAligned: UInt64 {
        var value = significand
        for _ in digitCount..<Self.maxShortDigits { value *= 10 }
        return value
    }
}

// MARK: - Divisibility

extension JSONNumber {
    /// Whether the number is an integer: `1.0` and `1e3` are.
    package var isInteger: Bool { exponent >= 0 }

    /// The number, if it is an integer and fits.
    package var integer: Int64? {
        guard isInteger, allDigits.isEmpty, exponent < Self.maxShortDigits else { return nil }
        var value = significand
        for _ in 0..<exponent {
            let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            if isTooLarge { return nil }
            value = product
        }
        if isNegative { return value <= Int64.min.magnitude ? Int64(truncatingIfNeeded: 0 &- value) : nil }
        return Int64(exactly: value)
    }

    package var isPositive: Bool { !isNegative && digitCount > 0 }

    /// The maximum number of significant digits of a divisor for ``isMultiple(of:)``.
    package static let maxDivisorDigits = maxShortDigits

    /// Whether the number is an integer multiple of the divisor; exact.
    /// - Parameter divisor: not zero, with at most ``maxDivisorDigits``; for any other the result is `false`.
    package func isMultiple(of divisor: JSONNumber) -> Bool {
        guard divisor.digitCount > 0 && divisor.allDigits.isEmpty else { return false }
        if digitCount == 0 { return true }
        let power = exponent - divisor.exponent
        // The digits do not end in 0, so the number is not a multiple of ten.
        guard power >= 0 else { return false }
        let modulus = UInt128(divisor.significand)
        let rest =
            allDigits.isEmpty
            ? UInt128(significand) % modulus : allDigits.reduce(0) { ($0 * 10 + UInt128($1)) % modulus }
        return rest * Self.powerOfTen(power, modulo: modulus) % modulus == 0
    }

    /// - Parameter modulus: below 2⁶⁴, so that products fit.
    private static func powerOfTen(_ exponent: Int, modulo modulus: UInt128) -> UInt128 {
        var (result, base, rest) = (1 % modulus, 10 % modulus, exponent)
        while rest > 0 {
            if rest % 2 == 1 { result = result * base % modulus }
            base = base * base % modulus
            rest /= 2
        }
        return result
    }
}

extension JSONValue {
    /// The number without loss; `nil` for other kinds of values.
    package var number: JSONNumber? { kind == .number ? withBytes { JSONNumber($0) } : nil }
}
