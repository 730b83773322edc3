import HeraldJSON
import Testing

@Suite("Timestamps")
struct TimestampTests {
    @Test(
        "milliseconds and text name the same instant",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"), (1, "1970-01-01T00:00:00.001Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"), (1_795_255_200_000, "2026-11-21T10:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
            (-2_203_891_200_001, "1900-02-28T23:59:59.999Z"), (-11_670_998_400_000, "1600-02-29T00:00:00.000Z"),
        ] as [(Int64, String)])
    func pairs(_ milliseconds: Int64, _ text: String) {
        #expect(Timestamp(milliseconds: milliseconds).description == text)
        #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
    }

    @Test("every day from year 1 to 9999 survives the round trip")
    func everyDay() {
        var expected = Timestamp.earliest.milliseconds
        while expected <= Timestamp.latest.milliseconds {
            let text = Timestamp(milliseconds: expected).description
            if Timestamp(rfc3339: text)?.milliseconds != expected { Issue.record("\(expected) \(text)") }
            expected += 86_400_000 * 7 + 1_234_567
        }
    }

    @Test(
        "offsets, fractions and lower-case letters are read",
        arguments: [
            ("1970-01-01T01:00:00+01:00", 0), ("1969-12-31T18:30:00-05:30", 0), ("1970-01-01T00:00:00-00:00", 0),
            ("1970-01-01t00:00:00z", 0), ("1970-01-01T00:00:00.1Z", 100), ("1970-01-01T00:00:00.12Z", 120),
            ("1970-01-01T00:00:00.123456789Z", 123), ("1970-01-01T00:00:00.999999999Z", 999),
            ("1970-01-01T00:00:00.000000001Z", 0), ("1970-01-01T23:59:59+23:59", 59_000),
            ("0001-01-01T01:00:00+01:00", -62_135_596_800_000), ("1969-12-31T23:59:59.9999Z", -1),
            ("1970-01-01T00:00:00.1234567890Z", 123), ("1970-01-01T00:00:00.123456789012Z", 123),
            ("2016-12-31T23:59:60Z", 1_483_228_799_999), ("2016-12-31T23:59:60.5Z", 1_483_228_799_999),
            ("2017-01-01T08:59:60+09:00", 1_483_228_799_999), ("2016-12-31T15:59:60-08:00", 1_483_228_799_999),
        ] as [(String, Int64)])
    func forms(_ text: String, _ milliseconds: Int64) {
        #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
    }

    @Test(
        "anything else is refused",
        arguments: [
            "", "1970", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01 00:00:00Z", "1970-01-01T00:00Z",
            "1970-1-01T00:00:00Z", "70-01-01T00:00:00Z", "01970-01-01T00:00:00Z", "1970-00-01T00:00:00Z",
            "1970-13-01T00:00:00Z", "1970-01-00T00:00:00Z", "1970-01-32T00:00:00Z", "1970-04-31T00:00:00Z",
            "1970-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2023-02-29T00:00:00Z",
            "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z", "1970-01-01T00:00:60Z", "1970-01-01T00:00:61Z",
            "2016-12-31T23:59:61Z", "2016-12-31T23:58:60Z", "2016-12-30T23:59:60Z", "2016-12-31T23:59:60+01:00",
            "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00.1234567890123Z", "1970-01-01T00:00:00,1Z",
            "1970-01-01T00:00:00+0100", "1970-01-01T00:00:00+01", "1970-01-01T00:00:00+24:00",
            "1970-01-01T00:00:00+01:60", "1970-01-01T00:00:00ZZ", "1970-01-01T00:00:00Z ", " 1970-01-01T00:00:00Z",
            "1970-01-01T00:00:00Z+00:00", "+970-01-01T00:00:00Z", "-001-01-01T00:00:00Z", "0000-01-01T00:00:00Z",
            "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "1970-01-01T00:00:00−01:00",
            "１970-01-01T00:00:00Z", "1970-01-01T00:00:00\0",
        ])
    func refuses(_ text: String) { #expect(Timestamp(rfc3339: text) == nil) }

    @Test("a time without a text form is written as the nearest one that has one")
    func clamped() {
        #expect(Timestamp(milliseconds: .max).description == "9999-12-31T23:59:59.999Z")
        #expect(Timestamp(milliseconds: .min).description == "0001-01-01T00:00:00.000Z")
    }

    @Test("a string value is read as a timestamp")
    func value() throws {
        let root = try JSONDocument(parsing: #"["1970-01-01T00:00:01Z","x",1,"1970-01-01T00\u003a00:02Z"]"#).root
        #expect(root.elements.map { $0.timestamp?.milliseconds } == [1000, nil, nil, 2000])
    }
}
