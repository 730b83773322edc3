import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Applications are apps. The `uid` is the name of the app, as `herald import svix` makes it; the `name` is the title of its portal.
extension SvixEndpoints {
    var applicationRoutes: [Route] {
        [
            route(.get, "/app", .admin, takesQuery: true, listApplications),
            route(.post, "/app", .admin, takesQuery: true, createApplication),
            route(.get, "/app/{app_id}", .read) { call throws(Problem) in
                let app = try application(call)
                call.send { $0.svixMembers(of: app) }
            },
            route(.put, "/app/{app_id}", .admin, putApplication),
            route(.patch, "/app/{app_id}", .admin, patchApplication),
            route(.delete, "/app/{app_id}", .admin) { call throws(Problem) in
                let app = try application(call)
                try write(call, .remove(id: app.id, ifVersion: nil))
            },
        ]
    }

    /// The app of the path, if the key has access to it.
    private func application(_ call: Call) throws(Problem) -> App {
        guard let app = hub.committed.apps[try acting(call).app] else {
            throw .svixNotFound("application", call.parameters.first ?? "")
        }
        return app
    }

    private func listApplications(_ call: Call) throws(Problem) {
        let page = try SvixPage(call.query(SvixPage.names), isAscending: true)
        try page.check { $0.isID("app_") }
        let (shown, isDone) = page.page(of: hub.committed.apps.all.sorted { $0.id < $1.id }, id: \.id)
        call.send(shown, isDone: isDone, id: \.id) { $1.svixMembers(of: $0) }
    }

    private func createApplication(_ call: Call) throws(Problem) {
        let getsExisting = try call.query("get_if_exists").flag("get_if_exists")
        var input = try SvixApplicationInput(call.json(), isPatch: false)
        let id = hub.ids.next("app_", time: hub.clock.wall())
        if !input.hasUID {
            // Two customers may have one name: without a uid each request creates another application.
            input.addToName(id)
        } else if getsExisting, let app = hub.committed.apps.find(input.settings.name) {
            return call.send { $0.svixMembers(of: app) }
        }
        try AppEndpoints.write(call, .add(id: id, input.settings), hub, access) { outcome in
            // Another request has created it at the same time.
            if getsExisting, case .nameTaken(let app) = outcome { return .json { $0.svixMembers(of: app) } }
            return answer(to: call, outcome)
        }
    }

    /// Changes the application, or creates the one with this `uid`.
    private func putApplication(_ call: Call) throws(Problem) {
        let word = call.parameters[0]
        if let app = hub.committed.apps.find(word) { return try replace(app, call) }
        try call.afterLooking(hub) { () throws(Problem) in
            if let app = hub.committed.apps.find(word) { return try replace(app, call) }
            var input = try SvixApplicationInput(call.json(), isPatch: false, uid: word)
            try input.check()
            try write(call, .add(id: hub.ids.next("app_", time: hub.clock.wall()), input.settings))
        }
    }

    private func replace(_ app: App, _ call: Call) throws(Problem) {
        let input = try SvixApplicationInput(call.json(), isPatch: false, uid: app.settings.name)
        try write(call, .update(id: app.id, ifVersion: nil, change: input.change))
    }

    private func patchApplication(_ call: Call) throws(Problem) {
        let app = try application(call)
        let input = try SvixApplicationInput(call.json(), isPatch: true, uid: app.settings.name)
        try write(call, .update(id: app.id, ifVersion: nil, change: input.change))
    }

    private func write(_ call: Call, _ action: AppWrite.Action) throws(Problem) {
        try AppEndpoints.write(call, action, hub, access) { answer(to: call, $0) }
    }

    func answer(to call: Call, _ outcome: AppWrite.Outcome) -> Response {
        switch outcome {
        case .added(let app): .json(status: 201) { $0.svixMembers(of: app) }
        case .updated(let app): .json { $0.svixMembers(of: app) }
        case .notFound: call.response(to: .svixNotFound("application", call.parameters.first ?? ""))
        case .invalid(let errors): call.response(to: .invalid(errors.map(SvixApplicationInput.renamed)))
        case .nameTaken(let app):
            call.response(
                to: .nameTaken(app, "The uid \(app.settings.name) belongs to the application \(app.id)."))
        case .removed, .versionMismatch, .isDefault, .tooMany:
            AppEndpoints(hub: hub, access: access).answer(to: call, outcome)
        }
    }
}

/// An `ApplicationIn`, or a patch of it.
struct SvixApplicationInput {
    private static let fields = ["name", "uid", "metadata", "throttleRate", "rateLimit"]
    /// SDKs read a rate as a number of 16 bits, and fail for a larger one.
    static let maxRate: Int64 = 65_535
    private(set) var settings: App.Settings
    private(set) var hasUID = false
    private let isPatch: Bool
    private let given: Set<String>
    private var reader = FieldReader()

    /// - Parameter uid: of the application that is changed, or in the path of one that is created.
    init(_ document: JSONDocument, isPatch: Bool, uid: String? = nil) throws(Problem) {
        reader.wrong(document.errors(unlessObjectOf: Self.fields))
        given = Set(document.root.members.map(\.key))
        self.isPatch = isPatch
        settings = App.Settings(name: uid ?? "")
        let title = document["name"].flatMap { reader.text($0, "/name") }
        if document["name"] == nil, !isPatch { reader.wrong("/name", "is required") }
        if let value = document.nonNull("uid"), let text = reader.text(value, "/uid") {
            settings.name = text
            hasUID = true
        }
        if uid == nil, !hasUID { settings.name = Self.name(of: title ?? "") }
        if let value = document["metadata"], value.kind != .object || value.count > 0 {
            reader.wrong("/metadata", "must be {}: an app of Herald has no metadata")
        }
        for name in ["throttleRate", "rateLimit"] {
            guard let value = document.nonNull(name) else { continue }
            settings.eventsPerSecond = reader.integer(value, "/" + name, 1...Self.maxRate)
        }
        if let title, title != settings.name {
            if let mistake = PortalInput.title(title) { reader.wrong("/name", mistake) }
            settings.portal.title = title
        }
        try check()
    }

    /// The application that a message describes.
    /// - Parameter uid: of the path, which it must have.
    init(_ described: JSONValue, uid: String) throws(Problem) {
        let place = "/application"
        let document = try JSONDocument(reading: described.bytes)
        guard document["uid"]?.isString(uid) == true else {
            throw .invalid([FieldError(place + "/uid", "must be \(uid), the one of the path")])
        }
        do throws(Problem) {
            try self.init(document, isPatch: false)
        } catch {
            throw error.changingFields { FieldError(place + $0.pointer, $0.detail) }
        }
    }

    mutating func check() throws(Problem) {
        reader.add(settings.problems.map(Self.renamed))
        try reader.check()
    }

    /// Adds a part of the id, so that no other app has the name. The title stays.
    mutating func addToName(_ id: String) {
        let ending = "-" + id.suffix(8).lowercased()
        settings.portal.title = settings.portal.title ?? settings.name
        settings.name = settings.name.prefix(64 - ending.utf8.count) + ending
    }

    /// The changes of the given fields; of all fields without a patch, except the `uid`, which each app has.
    var change: @Sendable (inout App.Settings) -> Void {
        let (new, given, isPatch) = (settings, given, isPatch)
        return { settings in
            if given.contains("uid") { settings.name = new.name }
            if given.contains("name") { settings.portal.title = new.portal.title }
            if !isPatch || given.contains("throttleRate") || given.contains("rateLimit") {
                settings.eventsPerSecond = new.eventsPerSecond
            }
        }
    }

    /// An error with the name of Svix's field.
    static func renamed(_ error: FieldError) -> FieldError {
        let names = ["/name": "/uid", "/events_per_second": "/throttleRate", "/portal/title": "/name"]
        return FieldError(names[error.pointer] ?? error.pointer, error.detail)
    }

    /// A name of an app that is made of the title, or another one if the title has too few of its characters.
    private static func name(of title: String) -> String {
        let name = App.Settings.slug(title)
        return App.Settings.isName(name) ? name : "application"
    }
}

extension JSONObjectWriter {
    mutating func svixMembers(of app: App) {
        member("id", app.id)
        member("uid", app.settings.name)
        member("name", app.settings.portal.title ?? app.settings.name)
        let rate = app.settings.eventsPerSecond.map { min($0, Int(SvixApplicationInput.maxRate)) }
        member("throttleRate", rate)
        object("metadata") { _ in }
        member("createdAt", .timestamp(app.createdAt))
        member("updatedAt", .timestamp(app.updatedAt))
    }
}
