import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@testable import HeraldWebhooks

/// With Tests/Proxy/proxy.py between Herald and the receiver.
@Suite("A proxy for callbacks", .timeLimit(.minutes(20)))
struct CallbackProxyTests {
    private final class Proxy: Sendable {
        let process: ChildProcess
        let port: Int

        init(_ arguments: String...) async throws {
            let script = #filePath.split(separator: "/").dropLast(2).reduce("/") { $0 + $1 + "/" } + "Proxy/proxy.py"
            let process = try ChildProcess("/usr/bin/python3", ["-B", script] + arguments)
            self.process = process
            port = try await eventually("the proxy listens") { process.lines.first.flatMap { Int($0) } }
        }

        deinit { process.signal(SIGKILL) }

        var targets: [String] { Array(process.lines.dropFirst()) }
    }

    @Test(
        "the proxy gets the checked address, and the receiver the name; the request is between Herald and the receiver",
        arguments: ["http", "socks5h"])
    func address(scheme: String) async throws {
        let proxy = try await Proxy()
        let authority = try CertificateAuthority()
        let receiver = try Receiver(tls: ReceiverTLS(authority))
        defer { receiver.close() }
        let folder = TemporaryFolder()
        let herald = try await HeraldProcess.start([
            "--callback-proxy", "\(scheme)://127.0.0.1:\(proxy.port)", "--certificate-authorities",
            try folder.write(authority.pem, to: "ca.pem"),
        ])
        let plain = try herald.receiver { _ in .status(204) }
        for url in ["https://localhost:\(receiver.port)/", "http://localhost:\(plain.port)/"] {
            _ = try await herald.register(url)
            _ = try await herald.register(url + "2", #""http_version": "2""#)
        }
        let event = try await herald.publish()
        _ = try await herald.deliveries(of: event, "delivered", "delivered", "delivered", "delivered")
        for receiver in [receiver, plain] {
            let host = "localhost:\(receiver.port)"
            #expect(receiver.requests.map { $0.header("host") } == [host, host])
            #expect(Set(receiver.requests.map { $0.path + " " + $0.version.rawValue }) == ["/ HTTP/1.1", "/2 HTTP/2"])
        }
        let word = scheme == "http" ? "CONNECT" : "SOCKS5"
        let targets: Set = ["\(word) 127.0.0.1:\(receiver.port) -", "\(word) 127.0.0.1:\(plain.port) -"]
        try await eventually("the proxy prints both") { Set(proxy.targets) == targets }
    }

    @Test("the address guard decides before the proxy")
    func guarded() async throws {
        let proxy = try await Proxy()
        let receiver = try Receiver { _ in .status(204) }
        defer { receiver.close() }
        let herald = try await HeraldProcess.start([
            "--callback-proxy", "http://127.0.0.1:\(proxy.port)", "--deny-networks",
            "127.0.0.1:\(receiver.port),[::1]:\(receiver.port)",
        ])
        _ = try await herald.register("http://localhost:\(receiver.port)/", #""retry_schedule": []"#)
        let event = try await herald.publish()
        let delivery = try #require(try await herald.deliveries(of: event, "exhausted").first)
        #expect(delivery["error"]?.string == "address_refused", "\(delivery)")
        #expect(proxy.targets.isEmpty && receiver.requestCount == 0)
    }

    @Test("a proxy that refuses or is not there is a failed connection, with its reason; no receiver is reached")
    func failing() async throws {
        let proxy = try await Proxy("refuse")
        let receiver = try Receiver { _ in .status(204) }
        defer { receiver.close() }
        for (url, words) in [
            ("http://127.0.0.1:\(proxy.port)", "403"), ("socks5h://127.0.0.1:\(proxy.port)", "proxy: "),
            ("http://127.0.0.1:9", "127.0.0.1"),
        ] {
            let herald = try await HeraldProcess.start(["--callback-proxy", url])
            let delegate = try await herald.register(receiver.url(), #""retry_schedule": []"#).id
            _ = try await herald.deliveries(of: try await herald.publish(), "exhausted")
            let attempt = try #require(try await herald.get("/v1/delegates/\(delegate)/attempts").data.first)
            #expect(attempt["error"]?.string == "connection_failed", "\(attempt)")
            #expect(attempt["detail"]?.string?.contains(words) == true, "\(attempt)")
        }
        #expect(receiver.requestCount == 0)
    }

    @Test("the operator excepts hosts and delegates; the password of a proxy, or of a collector, is in no output")
    func overrides() async throws {
        let (proxy, other) = (try await Proxy(), try await Proxy())
        let proxies = [
            "HERALD_CALLBACK_PROXY": "http://user:pass-1@127.0.0.1:\(proxy.port)",
            "HERALD_CALLBACK_PROXY_OVERRIDES": "127.0.0.1=direct, *.example=http://u:pass-1@127.0.0.1:\(other.port)",
        ]
        let herald = try await HeraldProcess.start(environment: proxies)
        let receiver = try herald.receiver { _ in .status(204) }
        _ = try await herald.register("http://localhost:\(receiver.port)/")
        _ = try await herald.register("http://127.0.0.1:\(receiver.port)/direct")
        _ = try await herald.deliveries(of: try await herald.publish(), "delivered", "delivered")
        try await eventually("the proxy prints it") {
            proxy.targets == ["CONNECT 127.0.0.1:\(receiver.port) user:pass-1"]
        }
        #expect(other.targets.isEmpty)
        let shown = try await ChildProcess.run(try Binary.path(), ["config"], environment: proxies)
        #expect(!shown.text.contains("pass-1") && !herald.process.text.contains("pass-1"))
        let flag = try await ChildProcess.run(
            try Binary.path(), ["serve", "--callback-proxy", "http://user:pass-1@127.0.0.1:1"])
        #expect(flag.end == .exited(64) && flag.text.contains("HERALD_CALLBACK_PROXY") && !flag.text.contains("pass-1"))
        let collector = try await ChildProcess.run(
            try Binary.path(), ["config", "--otel-exporter-otlp-endpoint", "http://pass-1@127.0.0.1:1"])
        #expect(collector.end == .exited(64) && !collector.text.contains("pass-1"), "\(collector.text)")
        let token = ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://pass-1@127.0.0.1:1"]
        let listed = try await ChildProcess.run(try Binary.path(), ["config"], environment: token)
        #expect(listed.end == .exited(0) && !listed.text.contains("pass-1"), "\(listed.text)")
    }

    @Test("a delegate's exception wins over that of its host")
    func order() throws {
        let rules = ProxyRules(
            CallbackProxy("http://a.example:1"),
            overrides: try ["*.corp.example=direct", "dlg_1=socks5h://b.example:2", "dlg_2=direct"].map {
                try #require(ProxyRules.Override($0))
            })
        #expect(rules.proxy(of: "dlg_0", host: "x.example")?.url == "http://a.example:1")
        #expect(rules.proxy(of: "dlg_0", host: "x.corp.example") == nil)
        #expect(rules.proxy(of: "dlg_1", host: "x.corp.example")?.url == "socks5h://b.example:2")
        #expect(rules.proxy(of: "dlg_2", host: "x.example") == nil)
        for text in [
            "a.example:1", "https://a.example:1", "http://a.example", "socks5://a:1", "http://a:1/x", "http://a:0",
            "http://u:p/w@a:1", "http://u:p?w@a:1", "socks5h://u:p#w@a:1", "http://u:p%00w@a:1", "http://u%0A:p@a:1",
        ] {
            #expect(CallbackProxy(text) == nil, "\(text)")
        }
        #expect(CallbackProxy("http://u:p%2Fw%20x@a:1")?.url == "http://u:p%2Fw%20x@a:1")
        for text in ["a.example", "a.example=", "=direct", "a/b=direct", "a.example=https://b:1"] {
            #expect(ProxyRules.Override(text) == nil, "\(text)")
        }
    }
}
