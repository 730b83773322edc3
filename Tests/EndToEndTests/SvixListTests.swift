import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("Channels and lists of Svix's API", .timeLimit(.minutes(20)))
struct SvixListTests {
    @Test("an endpoint with channels gets the messages that have one of them; one without gets all")
    func channels() async throws {
        let herald = try await SvixTests.start()
        let receiver = try herald.receiver()
        _ = try await herald.post(SvixTests.root + "/app", #"{"name": "Acme", "uid": "Acme.Inc"}"#)
        let path = SvixTests.root + "/app/Acme.Inc"
        for (uid, channels) in [("all", "null"), ("eu", #"["eu"]"#), ("us", #"["us", "ca"]"#)] {
            let url = receiver.url("/" + uid)
            let made = try await herald.post(
                path + "/endpoint", #"{"url": "\#(url)", "uid": "\#(uid)", "channels": \#(channels)}"#)
            #expect(made.status == 201, "\(made.text)")
            #expect(made["channels"]?.plainJSON == channels.filter { $0 != " " })
        }
        for (id, channels) in [
            ("none", "null"), ("eu", #"["eu"]"#), ("both", #"["us", "eu"]"#), ("other", #"["eur"]"#),
        ] {
            let sent = try await herald.post(
                path + "/msg", #"{"eventType": "a.b", "eventId": "\#(id)", "payload": {}, "channels": \#(channels)}"#)
            #expect(sent.status == 202, "\(sent.text)")
        }
        func messages(_ uid: String) async throws -> [String] {
            try await herald.get("\(path)/endpoint/\(uid)/msg").data.compactMap { $0["id"]?.string }.sorted()
        }
        _ = await receiver.requests(7)
        for (uid, expected) in [("all", ["both", "eu", "none", "other"]), ("eu", ["both", "eu"]), ("us", ["both"])] {
            _ = try await herald.get("\(path)/endpoint/\(uid)/msg") { $0.data.count == expected.count }
            #expect(try await messages(uid) == expected, "\(uid)")
        }

        // They are a filter, which is not combined with a filter of another form.
        let own = try await herald.get("/v1/delegates?kind=webhook", ["Herald-App": "Acme.Inc"])
        #expect(own.text.contains(#""filter":{"channels":["us","ca"]}"#), "\(own.text)")
        let none = try await herald.send("PATCH", path + "/endpoint/us", #"{"channels": null}"#)
        #expect(none.status == 200 && none["channels"]?.isNull == true, "\(none.text)")
        let put = try await herald.send(
            "PUT", path + "/endpoint/eu", #"{"url": "\#(receiver.url("/new"))", "channels": ["fr"]}"#)
        #expect(put.status == 200 && put["channels"]?.plainJSON == #"["fr"]"#, "\(put.text)")
        let filtered = try await herald.send(
            "PATCH", "/v1/delegates/\(put.id)", #"{"filter": {"data": {"a": [1]}}}"#, ["Herald-App": "Acme.Inc"])
        #expect(filtered.status == 200, "\(filtered.text)")
        let refused = try await herald.send("PATCH", path + "/endpoint/eu", #"{"channels": ["fr"]}"#)
        #expect(refused.status == 422 && refused.text.contains("the delegate has a filter"), "\(refused.text)")
        let kept = try await herald.send("PUT", path + "/endpoint/eu", #"{"url": "\#(receiver.url("/new"))"}"#)
        #expect(kept.status == 200 && kept["channels"]?.isNull == true, "\(kept.text)")
        for channels in ["[1]", #"["a b"]"#, #"["a", "a"]"#, #"["1", "2", "3", "4", "5", "6"]"#, "7", "{}"] {
            let sent = try await herald.post(
                path + "/msg", #"{"eventType": "a.b", "payload": {}, "channels": \#(channels)}"#)
            #expect(sent.status == 422 && sent.text.contains("channels"), "\(channels): \(sent.text)")
        }
    }

    @Test("of requests that get or create an application at once, one creates it, and all get it")
    func created() async throws {
        let herald = try await SvixTests.start()
        let path = SvixTests.root + "/app?get_if_exists=true"
        for round in 0..<10 {
            let body = #"{"name": "Acme", "uid": "acme-\#(round)"}"#
            async let one = herald.post(path, body)
            async let two = herald.post(path, body)
            async let three = herald.post(path, body)
            let answers = try await [one, two, three]
            #expect(answers.map(\.status).sorted() == [200, 200, 201], "\(answers.map(\.text))")
            #expect(Set(answers.map(\.id)).count == 1)
        }
    }

    @Test("lists with conditions have each attempt and message once, over all pages")
    func conditions() async throws {
        let receiver = try Receiver { request in
            String(decoding: request.body, as: UTF8.self).contains("bad") ? .status(500) : .status(200)
        }
        defer { receiver.close() }
        let herald = try await SvixTests.scene(receiver)
        let (path, count) = (SvixTests.root + "/app/one", 12)
        _ = try await herald.send(
            "PATCH", "/v1/delegates/\(try await herald.get(path + "/endpoint/first").id)", #"{"retry_schedule": []}"#,
            ["Herald-App": "one"])
        for number in 0..<count {
            let (type, data) = number.isMultiple(of: 3) ? ("order.bad", #""bad""#) : ("order.new", "1")
            let sent = try await herald.post(
                path + "/msg", #"{"eventType": "\#(type)", "eventId": "n\#(number)", "payload": {"v": \#(data)}}"#)
            #expect(sent.status == 202)
        }
        _ = try await herald.get(path + "/attempt/endpoint/first") { $0.data.count == count + 1 }
        func all(_ list: String, _ query: String) async throws -> [String] {
            var (found, next): ([String], String?) = ([], "")
            while let iterator = next {
                let page = try await herald.get("\(path)/\(list)?limit=2&\(query)&iterator=\(iterator)")
                #expect(page.status == 200 && page.data.count <= 2, "\(page.text)")
                found += page.data.compactMap { ($0["msgId"] ?? $0["id"])?.string }
                next = page["done"]?.bool == true ? nil : page.string("iterator")
            }
            return found.sorted()
        }
        let bad = (0..<count).filter { $0.isMultiple(of: 3) }.map { "n\($0)" }.sorted()
        for list in ["attempt/endpoint/first", "endpoint/first/msg"] {
            for query in ["event_types=order.bad,x.y", "status=2", "event_types=order.bad&status=2"] {
                #expect(try await all(list, query) == bad, "\(list) \(query)")
            }
            #expect(try await all(list, "event_types=order.bad&status=0") == [])
            #expect(try await all(list, "event_types=order.paid") == ["m1"])
        }
        #expect(try await all("attempt/endpoint/first", "status_code_class=500") == bad)
        #expect(try await all("attempt/endpoint/first", "status_code_class=0") == [])
        for query in ["status=5", "status=x", "status_code_class=201", "before=x", "channel=a%20b", "tag=x"] {
            let answer = try await herald.get("\(path)/attempt/msg/m1?\(query)")
            #expect(answer.status == 422, "\(query): \(answer.text)")
        }
        #expect(try await herald.get("\(path)/attempt/msg/m1?endpoint_id=nobody").status == 404)
        let stats = try await herald.get("\(path)/endpoint/first/stats?since=2026-01-01T00:00:00Z")
        #expect(
            stats.integer("success") == Int64(count - bad.count + 1) && stats.integer("fail") == Int64(bad.count),
            "\(stats.text)")
        #expect(try await herald.get("\(path)/endpoint/first/stats?until=1969-01-01T00:00:00Z").integer("success") == 0)
    }

    @Test("attempts name an endpoint that was deleted")
    func deletedEndpoint() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let herald = try await SvixTests.start()
        _ = try await herald.post(SvixTests.root + "/app", #"{"name": "Acme", "uid": "acme"}"#)
        let path = SvixTests.root + "/app/acme"
        let made = try await herald.post(path + "/endpoint", #"{"url": "\#(receiver.url("/hook"))", "uid": "first"}"#)
        _ = try await herald.post(path + "/msg", #"{"eventType": "a.b", "eventId": "m1", "payload": {}}"#)
        _ = try await herald.get(path + "/attempt/msg/m1") { $0.data.count == 1 }
        let deleted = try await herald.send("DELETE", path + "/endpoint/first")
        #expect(deleted.status == 204, "\(deleted.text)")
        let listed = try await herald.get(path + "/attempt/msg/m1").data
        #expect(listed.map { $0["endpointId"]?.string } == [made.id])
        let attempt = listed.first?["id"]?.string ?? ""
        let shown = try await herald.get("\(path)/msg/m1/attempt/\(attempt)")
        #expect(shown.string("endpointId") == made.id, "\(shown.text)")
    }

    @Test("with little memory large messages of an endpoint come in small pages, with their payloads")
    func large() async throws {
        let herald = try await HeraldProcess.start(
            ["--svix-api", "true", "--memory", "64MiB"], adminKey: MadeKey.admin.text)
        let receiver = try herald.receiver()
        _ = try await herald.post(SvixTests.root + "/app", #"{"name": "Acme", "uid": "acme"}"#)
        let path = SvixTests.root + "/app/acme"
        let made = try await herald.post(path + "/endpoint", #"{"url": "\#(receiver.url())", "uid": "first"}"#)
        #expect(made.status == 201, "\(made.text)")
        let text = String(repeating: "x", count: 200_000)
        for number in 0..<5 {
            let message = #"{"eventType": "a.b", "eventId": "m\#(number)", "payload": {"text": "\#(text)"}}"#
            #expect(try await herald.post(path + "/msg", message).status == 202)
        }
        _ = try await herald.get(path + "/attempt/endpoint/first") { $0.data.count == 5 }
        var (found, next): ([String], String?) = ([], "")
        while let iterator = next {
            let page = try await herald.get("\(path)/endpoint/first/msg?iterator=\(iterator)")
            #expect((1...2).contains(page.data.count))
            #expect(page.data.allSatisfy { $0["payload"]?["text"]?.string == text })
            found += page.data.compactMap { $0["id"]?.string }
            next = page["done"]?.bool == true ? nil : page.string("iterator")
        }
        #expect(found.sorted() == (0..<5).map { "m\($0)" })
    }
}

extension JSONValue {
    /// The value as JSON, without spaces.
    fileprivate var plainJSON: String { String(decoding: bytes, as: UTF8.self).filter { $0 != " " } }
}
