import HeraldJSON
import Testing

@Suite("Formats of strings")
struct FormatTests {
    @Test(
        "each format accepts the texts of its standard",
        arguments: [
            (
                "date-time",
                [
                    "2026-01-31T12:00:00Z", "1963-06-19t08:30:06.283185z", "1990-12-31T15:59:59.123-08:00",
                    "1998-12-31T23:59:60Z", "1998-12-31T15:59:60.123-08:00", "2024-02-29T00:00:00+23:59",
                ],
                [
                    "2026-01-31", "2026-01-31 12:00:00Z", "2026-01-31T12:00:00", "2026-02-29T00:00:00Z",
                    "1998-12-31T22:59:60Z",
                    "2026-1-31T12:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T12:00:00.Z", "2026-01-31T12:00:00+24:00",
                    "",
                ]
            ),
            (
                "date", ["2026-01-31", "2024-02-29", "2000-02-29"],
                [
                    "1900-02-29", "2026-04-31", "2026-13-01", "2026-00-01", "2026-01-00",
                    "2026-1-1", "20260131", "2026-01-31Z", "২026-01-31",
                ]
            ),
            (
                "time", ["08:30:06Z", "23:59:60Z", "08:30:06.5+00:20", "01:29:60+01:30", "15:59:60-08:00"],
                [
                    "08:30:06", "24:00:00Z", "08:60:00Z", "08:30:61Z", "22:59:60Z", "08:30:06 Z", "8:30:06Z",
                    "08:30:06+2400",
                ]
            ),
            (
                "email",
                [
                    "joe.bloggs@example.com", "te~st@example.com", #""joe bloggs"@example.com"#, "joe@[127.0.0.1]",
                    "joe@[IPv6:::1]", "a+b@x",
                ],
                [
                    "2962", "", "@example.com", "a@", ".test@example.com", "te..st@example.com", "a@-x.com",
                    "a b@x.com",
                    "joe@[127.0.0.300]", "a@x..com", #""a"b"@x.com"#, "jöe@example.com",
                ]
            ),
            (
                "uri",
                [
                    "http://foo.bar/?baz=qux#quux", "urn:oasis:names:x:1", "mailto:a@b.c", "ftp://[2001:db8::7]:21/c",
                    "a:",
                    "http://user:p%20w@host:80/a;b=c", "tel:+1-816-555-1212", "http://[v1.fe]/",
                ],
                [
                    "//foo.bar/", "/abc", "abc", "", "http:// shouldfail.com", ":// x", "bar,baz:x", "http://a\\b",
                    "http://x/%zz",
                    "http://foo.bar/?q=[]", "https://[@x.org]/", "http://h:8a/", "http://x/ü", "1a:b",
                ]
            ),
            (
                "uuid", ["2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2EB8AA08-AA98-11EA-B4AA-73B441D16380"],
                [
                    "2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08aa98-11ea-b4aa73b441d16380-", "",
                    "2eb8aa08-aa98-11ea-b4aa-73b441d1638g",
                    "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}",
                ]
            ),
            (
                "ipv4", ["192.168.0.1", "0.0.0.0", "255.255.255.255"],
                ["256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4 ", "0x7f.0.0.1", "1..2.3"]
            ),
            (
                "ipv6",
                [
                    "::1", "::", "2001:db8::7", "1:2:3:4:5:6:7:8", "::ffff:192.0.2.1", "1::", "1:2:3:4:5:6::",
                    "1:2::4:5:6:7:8", "::2:3:4:5:6:7:8",
                    "1:2:3:4:5:6:1.2.3.4", "fe80::A1b2",
                ],
                [
                    "", ":", "1", "12345::", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
                    "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8",
                    ":1:2:3:4:5:6:7", "1:2:3:4:5:6:7:", "::1.2.3", "1.2.3.4::", "fe80::a%eth0", "g::",
                    "1:2:3:4:5:6:7:1.2.3.4", "::1 ",
                ]
            ),
            (
                "uri-reference",
                ["http://a/b", "//a/b", "/a?b#c", "a/b:c", "", "?q", "#f", "a", "urn:x:y"],
                ["a b", "1:b", "%zz", "a\\b", "#a#b", "[]"]
            ),
            (
                "hostname",
                ["a", "example.com", "a-b.c1", "1.2.3", "xn--nxasmq6b"],
                ["", ".", "a..b", "-a", "a-", "a_b", "ü.de", "a.", String(repeating: "a", count: 64)]
            ),
            (
                "duration",
                ["P1Y", "P1Y2M3DT4H5M6S", "PT36H", "P1M", "PT1M", "P4W", "PT1H2M", "P10D"],
                [
                    "", "P", "PT", "1D", "P1", "P1D2H", "P1YT", "PT1D", "P1Y3D", "PT1H3S", "P2D1Y", "P1Y2W", "P1.5D",
                    "-P1D",
                ]
            ),
        ] as [(String, [String], [String])])
    func formats(name: String, accepted: [String], refused: [String]) throws {
        func isValid(_ text: String) throws -> Bool {
            try violations(#"{"format": "\#(name)"}"#, quoted(text), assertsFormats: true).isEmpty
        }
        for text in accepted { #expect(try isValid(text), "\(text)") }
        for text in refused { #expect(try !isValid(text), "\(text)") }
        #expect(try violations(#"{"format": "\#(name)"}"#, "1", assertsFormats: true) == [])
    }
}
