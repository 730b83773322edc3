import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// Access to the portal of Svix is a link to the portal of Herald.
extension SvixEndpoints {
    private static let fields = ["expiry", "application", "featureFlags", "readOnly", "capabilities", "sessionId"]
    private static let seconds: ClosedRange<Int64> = 3_600...604_800

    func openPortal(_ call: Call) throws(Problem) {
        guard let app = hub.committed.apps.find(call.parameters[0]) else {
            throw .svixNotFound("application", call.parameters[0])
        }
        let document = try call.optionalJSON()
        var reader = FieldReader(document, fields: Self.fields)
        let seconds = reader.member("expiry") { $0.integer($1, $2, Self.seconds) } ?? Int(Self.seconds.upperBound)
        for name in Self.fields.dropFirst() {
            guard let value = document.nonNull(name), value.kind != .array || value.count > 0 else { continue }
            reader.wrong("/" + name, "must be null: a link of Herald opens all of the portal of one app")
        }
        try reader.check()
        let portal = PortalEndpoints(hub: hub, access: access)
        // Without a public URL, a link begins with that of the request: a program gives it to a browser as it is.
        let base = call.publicURL.base.isEmpty ? "\(isTLS ? "https" : "http")://\(call.request.head.host ?? "")" : ""
        try portal.open(call, app.key, seconds) { token, _ in
            call.send {
                $0.member("url", base + portal.url(of: token, app.key, call))
                $0.member("token", token)
            }
        }
    }
}
