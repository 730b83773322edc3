import HeraldJSON
import HeraldModel
import HeraldTestSupport
import HeraldWebhooks
import Testing

@Suite(.timeLimit(.minutes(20))) struct FormatTests {
    private let event = Event(
        id: "evt_1", type: "order.created", subject: "order:7", time: 1_614_265_330_999,
        attributes: [
            KeyValue("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            KeyValue("partitionkey", "a b"),
        ], data: #"{"n":  1}"#.utf8)

    private func request(
        _ format: WebhookSettings.Format, _ events: [Event], source: String = "/shop"
    ) async throws -> [ReceivedRequest] {
        let receiver = try Receiver()
        let loop = try SendingLoop { $0.source = source }
        defer {
            receiver.close()
            loop.stop()
        }
        let target = delegate(receiver.url(), headers: [KeyValue("x-team", "blue")]) { $0.format = format }
        for event in events { #expect(await loop.send(target, event).isSuccess) }
        return receiver.requests
    }

    @Test("a CloudEvent in structured mode is one signed document")
    func structured() async throws {
        let request = try #require(try await request(.cloudevents, [event]).first)
        #expect(request.header("content-type") == "application/cloudevents+json; charset=utf-8")
        #expect(request.text.contains(#""data":{"n":  1}"#))
        let document = try JSONDocument(parsing: request.body).root
        let expected = [
            "specversion": "1.0", "id": "evt_1", "source": "/shop", "type": "order.created", "subject": "order:7",
            "time": "2021-02-25T15:02:10.999Z", "datacontenttype": "application/json", "partitionkey": "a b",
        ]
        for (name, value) in expected { #expect(document[name]?.string == value, "\(name)") }
        #expect(request.headers.allSatisfy { !$0.name.lowercased().hasPrefix("ce-") })
        #expect(request.header("x-team") == "blue")
        #expect(try request.header("webhook-signature") == v1(secretBytes, request))
    }

    @Test("a CloudEvent in binary mode is the data with ce- headers, and the data is signed")
    func binary() async throws {
        let request = try #require(try await request(.cloudeventsBinary, [event]).first)
        #expect(request.text == #"{"n":  1}"#)
        #expect(request.headers.filter { $0.name == "content-type" }.map(\.value) == ["application/json"])
        let expected = [
            "ce-specversion": "1.0", "ce-id": "evt_1", "ce-source": "/shop", "ce-type": "order.created",
            "ce-subject": "order:7", "ce-time": "2021-02-25T15:02:10.999Z", "ce-partitionkey": "a%20b",
        ]
        for (name, value) in expected { #expect(request.header(name) == value, "\(name)") }
        #expect(request.header("content-length") == "9")
        #expect(request.header("webhook-id") == "evt_1")
        #expect(try request.header("webhook-signature") == v1(secretBytes, request))
    }

    @Test("headers of one event are not sent with the next", arguments: WebhookSettings.Format.allCases)
    func noLeftovers(_ format: WebhookSettings.Format) async throws {
        let bare = Event(id: "evt_2", type: "ping", subject: nil, time: 0, data: "null".utf8)
        let requests = try await request(format, [event, bare, event])
        #expect(requests.map { $0.header("traceparent") != nil } == [true, false, true])
        #expect(requests.map { $0.header("ce-subject") != nil }[1] == false)
        #expect(requests.allSatisfy { $0.header("x-team") == "blue" })
        #expect(requests[0].body == requests[2].body)
        for request in requests { #expect(try request.header("webhook-signature") == v1(secretBytes, request)) }
    }

    @Test("delegates with different formats share one event")
    func mixed() async throws {
        let receiver = try Receiver()
        let loop = try SendingLoop { $0.capacity = 1 }
        defer {
            receiver.close()
            loop.stop()
        }
        for round in 0..<2 {
            for (key, format) in WebhookSettings.Format.allCases.enumerated() {
                let target = delegate(receiver.url(), key: Int64(3 * round + key)) { $0.format = format }
                #expect(await loop.send(target, event).isSuccess)
            }
        }
        let types = receiver.requests.map { $0.header("content-type") ?? "" }
        #expect(types[..<3].map { $0.contains("cloudevents") } == [false, true, false])
        #expect(types[..<3] == types[3...])
        #expect(receiver.requests[..<3].map(\.body) == receiver.requests[3...].map(\.body))
    }

    @Test("large headers of open requests have a bound, half of it for an app; others wait, which is no attempt")
    func roomForHeaders() async throws {
        let gate = ReceiverGate()
        let receiver = try Receiver { _ in .held(gate) }
        let loop = try SendingLoop { $0.maxRecipeBytes = 64_000 }
        defer {
            receiver.close()
            loop.stop()
        }
        // Each value has three times as many bytes in a header.
        let text = String(repeating: "\u{fc}", count: 512)
        let attributes = ["a", "b", "c", "d"].map { KeyValue($0, text) }
        let large = Event(id: "evt_1", time: 0, attributes: attributes, data: "{}")
        let long = Event(id: "evt_2", time: 0, data: "\"\(String(repeating: "x", count: 4_000))\"")
        let made = try recipe(#"{"headers": {"X-A": "{{ data }}", "X-B": "{{ data }}", "X-C": "{{ data }}"}}"#)
        let binary = delegate(receiver.url("/a")) { $0.format = .cloudeventsBinary }
        let named = delegate(receiver.url("/b"), key: 2) { $0.request = made }
        async let one = loop.send(binary, large)
        async let two = loop.send(named, long)
        _ = await receiver.requests(2)
        #expect(await loop.send(binary, large).failure == .stopped)
        #expect(await loop.send(named, long).failure == .stopped)
        gate.open()
        #expect(await [one, two].allSatisfy(\.isSuccess))
        #expect(await loop.send(binary, large).isSuccess)
        #expect(receiver.requests.count == 3)
    }

    @Test("a preview has each header once, also one that the recipe and the delegate have")
    func repeatedHeaders() throws {
        let sender = try CurlSender(.init(version: "1", addressGuard: AddressGuard()), resolver: Resolver())
        defer { sender.close { _, _ in } }
        let made = try recipe(#"{"headers": {"X-Team": "{{ id }}"}, "sign": ["github"]}"#)
        let secret = DelegateSecret(SigningSecret(.text, bytes: Array("hush-hush-hush-hush".utf8)))
        let target = delegate("https://hooks.example/", secrets: [secret], headers: [KeyValue("x-team", "blue")]) {
            $0.request = made
        }
        guard case .request(let shown) = sender.preview(Callback(token: 0, delegate: target, event: event, attempt: 1))
        else { throw Unexpected("no preview") }
        let names = shown.headers.map(\.key)
        #expect(Set(names).count == names.count, "\(names)")
        #expect(names.contains("x-team") && names.contains("x-hub-signature-256"))
    }
}
