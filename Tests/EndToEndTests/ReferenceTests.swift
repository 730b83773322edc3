import Foundation
import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("The API reference", .timeLimit(.minutes(20)))
struct ReferenceTests {
    private static let methods = ["get", "post", "put", "patch", "delete"]

    @Test("page and text have every operation of the description, each with an example for curl")
    func operations() async throws {
        let herald = try await HeraldProcess.start()
        let (page, text) = (try await herald.get("/docs"), try await herald.get("/docs.txt").text)
        #expect(page.header("content-type") == "text/html; charset=utf-8")
        let json = try await herald.get("/openapi.json").text
        let description = try JSONDocument(parsing: json, limits: JSONLimits(values: 100_000))
        var calls = 0
        for (path, item) in try #require(description["paths"]).members {
            for (method, operation) in item.members where Self.methods.contains(method) {
                calls += 1
                let call = "\(method.uppercased()) \(path)"
                #expect(page.text.contains(">\(call)</dt>\n"), "\(call)")
                #expect(text.contains("\n\(call)\n"), "\(call)")
                #expect(text.contains(try #require(operation["summary"]?.string)), "\(call)")
            }
        }
        #expect(calls > 60)
        #expect(page.text.matches(of: #/<pre>curl /#).count == calls)
        #expect(text.matches(of: #/\n +curl /#).count == calls)
    }

    @Test("the page has the policy of the dashboard, and nothing that it forbids")
    func policy() async throws {
        let herald = try await HeraldProcess.start()
        let page = try await herald.get("/docs")
        let policy = try #require(page.header("content-security-policy"))
        #expect(policy == (try await herald.get("/").header("content-security-policy")))
        #expect(policy.contains("script-src 'self'") && !policy.contains("unsafe"))
        let forbidden = #/<script|<style|<[^>]* (?:style|on[a-z]+)=|<(?:link|img|iframe)[^>]*https?:/#
        #expect(page.text.firstMatch(of: forbidden) == nil)
        for match in page.text.matches(of: #/href="#([^"]*)"/#) {
            #expect(page.text.contains("id=\"\(match.1)\""), "\(match.1)")
        }
        let style = try await herald.get("/docs.css")
        #expect(page.text.contains("href=\"docs.css\"") && style.status == 200)
        #expect(style.header("content-type") == "text/css; charset=utf-8")
        let tag = try #require(page.header("etag"))
        #expect(try await herald.get("/docs", ["If-None-Match": tag]).status == 304)
    }

    @Test("the examples are commands, name the server, and work")
    func examples() async throws {
        let herald = try await HeraldProcess.start(["--public-url", "https://example.com/herald"])
        let text = try await herald.get("/docs.txt").text
        let examples = text.matches(of: #/\n +(curl (?:[^\n]*\\\n)*[^\n]*)/#).map { String($0.1) }
        #expect(examples.count > 60)
        #expect(examples.allSatisfy { $0.contains("https://example.com/herald/") })
        let parsed = try await ChildProcess.run("/bin/sh", ["-n"], input: Array(examples.joined(separator: "\n").utf8))
        #expect(parsed.end == .exited(0), "\(parsed.text)")
        let publish = try #require(examples.first { $0.contains("--json") && $0.hasSuffix("/v1/events") })
        let command = publish.replacing("https://example.com/herald", with: herald.url)
        let ran = try await ChildProcess.run("/bin/sh", ["-c", command + " --silent --fail"])
        #expect(ran.end == .exited(0) && ran.text.contains("\"id\""), "\(ran.text)")
    }

    @Test("the index for language models leads to pages that exist")
    func index() async throws {
        let herald = try await HeraldProcess.start()
        let index = try await herald.get("/llms.txt")
        #expect(index.header("content-type") == "text/plain; charset=utf-8")
        #expect(index.text.hasPrefix("# Herald\n\n> "))
        let links = index.text.matches(of: #/\]\(([^)]*)\)/#).map { String($0.1) }
        #expect(links.contains("docs.txt") && links.contains("openapi.yaml"))
        for link in links { #expect(try await herald.get("/" + link).status == 200, "\(link)") }
    }
}
