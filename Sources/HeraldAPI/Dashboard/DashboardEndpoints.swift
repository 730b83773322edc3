import HeraldCore
import HeraldCrypto
import HeraldHTTP
import HeraldModel

/// The dashboard: a page at `/`, and its files below `/dashboard/`. They are part of the binary and use only the public
/// API.
struct DashboardEndpoints: Sendable {
    let hub: Hub

    var routes: [Route] {
        [
            Route(.get, "/", needs: nil, takesQuery: true) { call throws(Problem) in
                // The users of an app's links have a page of their own: its policy names the pages that may frame it.
                // It needs no key, so only the id names the app: the policy would say which names there are.
                let id = try call.query("portal")["portal"]
                let app = id.flatMap(hub.committed.apps.find).flatMap { $0.id == id ? $0 : nil }
                call.send(DashboardFile.page, for: app?.settings.portal)
            },
            Route(.get, "/dashboard/{file}", needs: nil) { call throws(Problem) in
                guard let file = DashboardFile.byName[call.parameters[0]] else {
                    throw .notFound("The dashboard has no file of this name.")
                }
                call.send(file)
            },
        ]
    }
}

/// One file of the dashboard, or of the API reference.
struct DashboardFile: Sendable {
    let name: String
    let bytes: [UInt8]
    private let digest: [UInt8]

    private init(_ name: String) { self.init(name, EmbeddedFile.bytes(name)) }

    /// - Parameter name: its ending decides the type of the content.
    init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
        digest = SHA256.hash(bytes)
    }

    static let page = DashboardFile("index.html")

    static let byName = Dictionary(uniqueKeysWithValues: names.map { ($0, DashboardFile($0)) })

    private static let names = [
        "access.js", "activity.js", "api.js", "app.js", "appearance.js", "attempt.js", "attempts.js", "bulk.js",
        "charts.js", "delegates.js", "deliveries.js", "dom.js", "drawer.js", "events.js", "explained.js", "fanout.js",
        "fields.js", "filters.js", "form.js", "format.js", "german.js", "history.js", "icon.svg", "json.js", "live.js",
        "nodes.js", "overview.js", "pages.js", "post.js", "recipe.js", "replay.js", "scheduled.js", "secret.js",
        "server.js", "signin.js", "state.js", "story.js", "style.css", "svg.js", "texts.js", "times.js", "types.js",
    ]

    private static let types = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "svg": "image/svg+xml", "txt": "text/plain; charset=utf-8",
    ]

    /// No content from other origins, no inline scripts, and no markup from strings. Only the page for an app's links may be
    /// framed, by the origins that the app names, and may have a logo in a `data:` URL.
    private static func policy(for portal: Portal?) -> String {
        let ancestors = portal?.frameOrigins ?? []
        return [
            "default-src 'none'", "script-src 'self'", "style-src 'self'",
            "img-src 'self'" + (portal == nil ? "" : " data:"), "connect-src 'self'", "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors " + (ancestors.isEmpty ? "'none'" : ancestors.joined(separator: " ")),
            "require-trusted-types-for 'script'", "trusted-types 'none'",
        ].joined(separator: "; ")
    }

    /// The file, or 304 if the client has it.
    func response(ifNoneMatch known: String?, for portal: Portal? = nil) -> Response {
        let policy = Self.policy(for: portal)
        // Safari keeps the policy of the response that it has when it gets 304: another policy is another version.
        let tag = Call.tag(of: digest + Array(policy.utf8))
        var headers: [Response.Field] = [
            .init("ETag", tag), .init("Content-Security-Policy", policy),
            .init("Referrer-Policy", "no-referrer"),
            .init("Cross-Origin-Opener-Policy", "same-origin"),
            .init("Cross-Origin-Resource-Policy", "same-origin"),
        ]
        if let known, Call.names(known, tag) { return Response(status: 304, headers: headers) }
        let suffix = name.split(separator: ".").last.map(String.init) ?? ""
        headers.append(.init("Content-Type", Self.types[suffix] ?? "application/octet-stream"))
        return Response(status: 200, headers: headers, body: bytes)
    }
}

extension Call {
    func send(_ file: DashboardFile, for portal: Portal? = nil) {
        // Browsers revalidate each time, so that all files are of the same version after an update.
        send(file.response(ifNoneMatch: request.head.list(of: "If-None-Match"), for: portal), caching: "no-cache")
    }
}
