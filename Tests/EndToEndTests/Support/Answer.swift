import HeraldJSON
import HeraldTestSupport

/// A response of Herald.
struct Answer: Sendable {
    let status: Int
    let headers: [(name: String, value: String)]
    let body: [UInt8]
    /// `null` when the body is not JSON.
    let json: JSONValue

    init(_ response: RawHTTPResponse) {
        status = response.status
        headers = response.headers
        body = response.body
        json = Answer.parse(response.body)
    }

    var text: String { String(decoding: body, as: UTF8.self) }

    /// - Parameter name: in lower case.
    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    subscript(key: String) -> JSONValue? { json[key] }
    func string(_ key: String) -> String? { json[key]?.string }
    func integer(_ key: String) -> Int64? { json[key]?.integer }

    /// The entries of a list.
    var data: [JSONValue] { json["data"].map { Array($0.elements) } ?? [] }

    /// The `id` of what was answered; empty when there is none.
    var id: String { string("id") ?? "" }

    /// The errors in the response, by pointer or parameter.
    var errors: [String] {
        (json["errors"].map { Array($0.elements) } ?? []).map {
            $0["pointer"]?.string ?? $0["parameter"]?.string ?? "?"
        }
    }

    /// The last segment of a problem's type.
    var problem: String? {
        guard header("content-type") == "application/problem+json", let type = string("type"),
            type.hasPrefix("/problems/")
        else { return nil }
        return String(type.dropFirst("/problems/".count))
    }

    private static func parse(_ body: [UInt8]) -> JSONValue {
        // The description of the API has many values.
        let limits = JSONLimits(depth: 64, values: 100_000, keyBytes: 256)
        if let document = try? JSONDocument(parsing: body, limits: limits) { return document.root }
        // Can't fail.
        return (try? JSONDocument(parsing: "null"))!.root
    }
}
