import HeraldHTTP
import HeraldModel

/// One operation of the API.
final class Route: Sendable {
    let method: RequestMethod
    /// The path as in OpenAPI: `/v1/delegates/{id}`.
    let template: String
    /// The scope that a key must have; `nil` if no key is needed.
    let needs: Scope?
    /// Called on a loop's thread; sends the response now or later.
    let handle: @Sendable (Call) throws(Problem) -> Void
    let segments: [Segment]
    /// Whether the body may also be a CloudEvent.
    let takesCloudEvents: Bool
    /// Whether a parameter may contain a slash or a backslash, as `%2F` or `%5C`: for ids of events and users.
    let takesSlashes: Bool
    /// Whether the response is a stream of Server-Sent Events.
    let isStream: Bool
    /// Makes the response to a problem, with the id of the request: other APIs have errors of other forms.
    let errors: @Sendable (Problem, String) -> Response

    enum Segment: Sendable, Equatable {
        case literal(String)
        case parameter
    }

    /// - Parameter takesQuery: the handler reads the parameters of the query. Without, the route refuses all of them.
    init(
        _ method: RequestMethod, _ template: String, needs: Scope?, takesQuery: Bool = false,
        takesCloudEvents: Bool = false, takesSlashes: Bool = false, isStream: Bool = false,
        errors: @escaping @Sendable (Problem, String) -> Response = { $0.response(requestID: $1) },
        _ handle: @escaping @Sendable (Call) throws(Problem) -> Void
    ) {
        self.method = method
        self.template = template
        self.needs = needs
        if takesQuery {
            self.handle = handle
        } else {
            self.handle = { call throws(Problem) in
                _ = try call.query()
                try handle(call)
            }
        }
        self.takesCloudEvents = takesCloudEvents
        self.takesSlashes = takesSlashes
        self.isStream = isStream
        self.errors = errors
        segments = template.split(separator: "/").map { $0.hasPrefix("{") ? .parameter : .literal(String($0)) }
    }
}

/// Finds the route for a path. Built once, read by all loops.
struct RouteTable: Sendable {
    let routes: [Route]
    /// Paths without parameters, by length: few paths share a length, so few are compared.
    private let literal: [[Literal]]
    private let parametric: [Route]
    /// No path of a route has more.
    private let maxSegments: Int

    init(_ routes: [Route]) {
        self.routes = routes
        parametric = routes.filter { $0.segments.contains(.parameter) }
        maxSegments = routes.map(\.segments.count).max() ?? 0
        var literal: [[Literal]] = []
        for (path, routes) in Dictionary(grouping: routes.filter { !$0.segments.contains(.parameter) }, by: \.template)
        {
            let path = Array(path.utf8)
            while literal.count <= path.count { literal.append([]) }
            literal[path.count].append(Literal(path: path, routes: routes))
        }
        self.literal = literal
    }

    private struct Literal {
        let path: [UInt8]
        let routes: [Route]
    }

    enum Match {
        case found(Route, parameters: [String])
        case unknownPath
        /// The methods for `Allow`.
        case otherMethods(String)
    }

    /// - Parameter path: as received, ASCII.
    /// - Throws: 400 for an ambiguous path.
    func match(_ method: RequestMethod, _ path: ArraySlice<UInt8>) throws(Problem) -> Match {
        if path.count < literal.count {
            let candidates = literal[path.count]
            for index in candidates.indices where candidates[index].path.elementsEqual(path) {
                return Self.choose(method, candidates[index].routes, parameters: [])
            }
        }
        // Each segment begins with a slash. Thousands would be decoded for a client without a key.
        guard path.count(where: { $0 == UInt8(ascii: "/") }) <= maxSegments else { return .unknownPath }
        let (segments, parameters) = try Self.split(String(decoding: path, as: UTF8.self))
        let candidates = parametric.filter { route in
            route.segments.count == segments.count
                && zip(route.segments, segments).allSatisfy { $0 == .parameter ? !$1.isEmpty : $0 == .literal($1) }
        }
        let isDoubtful = parameters.contains { $0.contains("/") || $0.contains("\\") }
        if isDoubtful, candidates.first?.takesSlashes != true {
            throw Self.doubtful
        }
        guard let first = candidates.first else { return .unknownPath }
        let places = first.segments.indices.filter { first.segments[$0] == .parameter }
        return Self.choose(method, candidates, parameters: places.map { parameters[$0] })
    }

    private static func choose(_ method: RequestMethod, _ candidates: [Route], parameters: [String]) -> Match {
        let wanted = method == .head ? .get : method
        for route in candidates where route.method == wanted { return .found(route, parameters: parameters) }
        var allowed = candidates.map(\.method.rawValue)
        if candidates.contains(where: { $0.method == .get }) { allowed.append("HEAD") }
        return .otherMethods((allowed + ["OPTIONS"]).joined(separator: ", "))
    }

    private static let doubtful = Problem.malformedPath(
        "The path must not contain . or .. segments; %2F and %5C are for the ids of events and users alone.")

    /// The segments, as received and decoded once. A path that another decoder, before or after this one, could read
    /// differently is refused.
    private static func split(_ path: String) throws(Problem) -> (raw: [String], decoded: [String]) {
        let raw = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        var decoded: [String] = []
        for segment in raw {
            let text: String
            do throws(PercentEncoding.Failure) {
                text = try PercentEncoding.decode(segment)
            } catch {
                throw .malformedPath("The path \(error.rawValue).")
            }
            guard text != ".", text != ".." else { throw doubtful }
            decoded.append(text)
        }
        return (raw, decoded)
    }
}
