import HeraldRuntime
import HeraldWebhooks
import Testing

@Suite struct CallbackURLTests {
    @Test(
        "URLs are stored in one form",
        arguments: [
            ("HTTP://EXAMPLE.com:80/a", "http://example.com/a"), ("https://example.com:443", "https://example.com/"),
            ("https://example.com:80/", "https://example.com:80/"),
            ("http://example.com./x?y=1", "http://example.com/x?y=1"),
            ("http://EXAMPLE.com/Path?Q=%2f", "http://example.com/Path?Q=%2f"),
            ("http://127.0.0.1./", "http://127.0.0.1/"),
            ("http://0x7f.1/", "http://127.0.0.1/"), ("http://2130706433/", "http://127.0.0.1/"),
            ("http://[0:0::1]:8080/", "http://[::1]:8080/"),
            ("http://[::FFFF:127.0.0.1]/", "http://[::ffff:127.0.0.1]/"),
            ("http://a/../../b/./c", "http://a/b/c"), ("http://localhost:8081/hook", "http://localhost:8081/hook"),
            ("http://example.com:/", "http://example.com/"),
            ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
            // As `new URL(text).href` of a browser writes them.
            (#"http://a/{x}"<y>^`|'[];"#, "http://a/%7Bx%7D%22%3Cy%3E%5E%60|'[];"),
            (#"http://a/?{x}"<y>^`|'[];"#, "http://a/?{x}%22%3Cy%3E^`|%27[];"),
            ("http://a?<'>/{}", "http://a/?%3C%27%3E/{}"), ("http://a/%7b?%3c", "http://a/%7b?%3c"),
        ])
    func normalForm(_ text: String, _ normal: String) throws {
        let url = try CallbackURL(text)
        #expect(url.text == normal)
        #expect(try CallbackURL(url.text) == url)
    }

    @Test("host, port and address are those that are dialled")
    func parts() throws {
        let name = try CallbackURL("https://Hooks.Example.com/x")
        #expect((name.scheme, name.host, name.port) == (.https, "hooks.example.com", 443))
        #expect(name.address == nil)
        let six = try CallbackURL("http://[2001:DB8::1]:81/")
        #expect((six.scheme, six.host, six.port) == (.http, "2001:db8::1", 81))
        #expect(six.address == IPAddress("2001:db8::1"))
        #expect(try CallbackURL("http://0177.0.0.1/").address == IPAddress("127.0.0.1"))
    }

    @Test(
        "unusable URLs are refused with a reason",
        arguments: [
            ("ftp://example.com/", CallbackURLError.scheme), ("example.com", .scheme), ("http:/example.com", .scheme),
            ("", .scheme), ("file:///etc/passwd", .scheme), ("gopher://8.8.4.4/", .scheme),
            ("javascript:alert(1)", .scheme),
            ("http://user@example.com/", .userInformation), ("http://u:p@example.com/", .userInformation),
            ("http://@example.com/", .userInformation), ("http://example.com@127.0.0.1/", .userInformation),
            ("http://example.com/#a", .fragment), ("http://example.com/#", .fragment),
            ("http://example.com#@evil/", .fragment),
            ("http://example.com:0/", .port), ("http://a..b/", .host), ("http://.a/", .host), ("http://a../", .host),
            ("http://./", .host), ("http://", .host), ("http:///a", .host), ("http://%31%32%37.0.0.1/", .host),
            ("http://exa%00mple.com/", .host), ("http://[fe80::1%25eth0]/", .host), ("http://_/", .host),
            ("http://a.__.b/", .host),
            ("http://256.1.1.1/", .host), ("http://1.2.3.4.5/", .host), ("http://a.0x7f/", .host),
            ("http://a!b/", .host),
            ("http://a*b/", .host), ("http://a,b/", .host), ("http://\(String(repeating: "a", count: 64)).com/", .host),
            ("http://exa mple.com/", .character), ("http://example.com/a b", .character),
            ("http://example.com\\@evil/", .character),
            ("http://example.com/\n", .character), ("http://example.com/\0", .character),
            (" http://example.com/", .character),
            ("http://①②⑦.0.0.1/", .character), ("http://127。0。0。1/", .character),
            ("http://bücher.example/", .character),
            ("http://example.com/\(String(repeating: "a", count: 2048))", .tooLong),
        ])
    func refused(_ text: String, _ expected: CallbackURLError) {
        #expect(throws: expected) { try CallbackURL(text) }
        #expect(!expected.description.isEmpty)
    }

    @Test(
        "libcurl's own errors are passed on",
        arguments: ["http://example.com:99999/", "http://[::1/", "http://[1:2]/", "http://a:b/"])
    func malformed(_ text: String) {
        do {
            let url = try CallbackURL(text)
            Issue.record("\(text) was read as \(url.text)")
        } catch {
            #expect(!error.description.isEmpty)
        }
    }

    @Test("a URL of the maximum length is accepted")
    func longest() throws {
        let text = "http://example.com/" + String(repeating: "a", count: 2048 - 19)
        #expect(try CallbackURL(text).text == text)
    }
}
