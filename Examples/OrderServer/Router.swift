import Foundation

// A stand-in for the router of a web framework, such as Hummingbird's, so that this example has no dependencies. A request
// is a line of standard input: `POST /orders {"total": 12.5}`. A response is a line of standard output.

nonisolated struct Request {
    let parameters: [String]
    let body: Data

    func decode<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: body)
    }
}

nonisolated struct Response {
    let status: Int
    let body: String

    init(_ status: Int, _ body: String) {
        self.status = status
        self.body = body
    }

    init(_ status: Int, _ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        self.init(status, String(decoding: try encoder.encode(value), as: UTF8.self))
    }
}

nonisolated struct Router {
    typealias Handler = @Sendable (Request) async throws -> Response

    private var routes: [(method: String, path: [String], handler: Handler)] = []

    /// - Parameter path: such as `webhooks/:id`.
    mutating func on(_ method: String, _ path: String, _ handler: @escaping Handler) {
        routes.append((method, path.split(separator: "/").map(String.init), handler))
    }

    func respond(to method: String, _ path: String, _ body: String) async throws -> Response {
        let path = path.split(separator: "/").map(String.init)
        for route in routes where route.method == method && route.path.count == path.count {
            let pairs = zip(route.path, path)
            guard pairs.allSatisfy({ $0 == $1 || $0.hasPrefix(":") }) else { continue }
            let parameters = pairs.filter { $0.0.hasPrefix(":") }.map(\.1)
            return try await route.handler(Request(parameters: parameters, body: Data(body.utf8)))
        }
        return Response(404, "no such page")
    }

    /// Serves requests until the end of standard input.
    func run() async throws {
        while let line = readLine() {
            let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
            guard parts.count >= 2 else { continue }
            let response = try await respond(to: parts[0], parts[1], parts.count > 2 ? parts[2] : "")
            print(parts[0], parts[1], "→", response.status, response.body)
        }
    }
}
