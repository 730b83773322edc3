import HeraldJSON
import Testing

@Suite("Numbers by value")
struct NumberTests {
    private func number(_ text: String) throws -> JSONNumber { try #require(JSONDocument(parsing: text).root.number) }

    @Test("the value is compared, not its notation")
    func equal() throws {
        for (one, two) in [
            ("1", "1.0"), ("1", "10e-1"), ("0", "-0"), ("0", "0.000e77"), ("100", "1E+2"), ("-2.50", "-25e-1"),
            ("1234567890123456789012345678900", "12345678901234567890123456789e2"), ("0.1", "1e-1"),
        ] {
            #expect(try number(one) == number(two), "\(one) \(two)")
            #expect(try number(one).hashValue == number(two).hashValue)
        }
        #expect(try number("0.1") != number("0.1000000000000000055511151231257827"))
    }

    @Test("numbers are ordered, beyond the precision of doubles")
    func order() throws {
        let ascending = [
            "-1e999999999999999999999999", "-1e400", "-12345678901234567891", "-12345678901234567890", "-10", "-9.99",
            "-1", "-1e-400", "0", "1e-400", "0.09", "0.1", "0.11", "1", "9.99", "10", "9007199254740992",
            "9007199254740993", "12345678901234567890.1", "12345678901234567890.11", "99999999999999999999", "1e20",
            "100000000000000000001", "1e400", "1e999999999999999999999999",
        ]
        for (index, one) in ascending.enumerated() {
            for (other, two) in ascending.enumerated() {
                #expect(try (number(one) < number(two)) == (index < other), "\(one) < \(two)")
                #expect(try (number(one) == number(two)) == (index == other), "\(one) == \(two)")
            }
        }
    }

    @Test("integers and multiples are decided exactly")
    func multiples() throws {
        for text in ["1", "1.0", "1e3", "-0.0", "25e-0", "1.5e1"] { #expect(try number(text).isInteger, "\(text)") }
        for text in ["1.5", "1e-1", "0.1e-3"] { #expect(try !number(text).isInteger, "\(text)") }
        for (text, divisor, isMultiple) in [
            ("0.3", "0.1", true), ("19.99", "0.01", true), ("0.305", "0.01", false), ("7", "2", false),
            ("8", "2", true), ("-9", "3", true), ("0", "7", true), ("1e300", "3", false), ("3e300", "3", true),
            ("1e999999999999999", "7", false), ("7e999999999999999", "7", true), ("5", "10", false), ("5", "2.5", true),
            ("9007199254740993", "2", false), ("123456789012345678901234567890", "9999999999999999999", false),
            ("99999999999999999990000000000000000000", "9999999999999999999", true), ("1", "0", false),
        ] {
            #expect(try number(text).isMultiple(of: number(divisor)) == isMultiple, "\(text) / \(divisor)")
        }
    }
}
