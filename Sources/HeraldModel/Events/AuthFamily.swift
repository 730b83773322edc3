package import HeraldJSON

/// The family `auth.*`: the required data of its events, and how they identify the user.
///
/// The user is `data.user.id` (a string or an integer); if it is missing, the subject: `user:42` means user `42`.
package enum AuthFamily {
    package static let loggedIn = "auth.logged_in"
    package static let loggedOut = "auth.logged_out"
    package static let statusChanged = "auth.status_changed"

    /// The change of a user by an event.
    package struct AuthChange {
        package let userID: String
        package let isLoggedIn: Bool
        /// The JSON object, if there is one.
        package let user: [UInt8]?
    }

    package static let maxUserIDBytes = 251  // so that the subject `user:<id>` has at most 256

    private static let prefix = "user:"

    package static func subject(ofUser id: String) -> String { prefix + id }

    package static func userID(ofSubject subject: String) -> String {
        rest(of: subject).map { String(Substring($0)) } ?? subject
    }

    /// The text after the prefix; `nil` if the subject does not start with it. By bytes, because characters could
    /// combine with the colon.
    private static func rest(of subject: String) -> Substring.UTF8View? {
        subject.begins(with: prefix) ? subject.utf8.dropFirst(prefix.utf8.count) : nil
    }

    /// Parses an event of the family; `nil` for other types. All errors are appended to `errors`.
    package static func read(
        _ type: String, subject: String?, data: JSONValue?, _ errors: inout [FieldError]
    ) -> AuthChange? {
        guard type == loggedIn || type == loggedOut || type == statusChanged else { return nil }
        let before = errors.count
        let user = data?["user"]
        var userID: String?
        if let user, !user.isNull {
            if user.kind == .object {
                userID = readID(user["id"], "/data/user/id", required: type == loggedIn, &errors)
            } else {
                errors.append(FieldError("/data/user", "must be an object with an id"))
            }
        } else if type == loggedIn {
            errors.append(FieldError("/data/user", "is required: an object with an id, such as {\"id\": 42}"))
        }
        if userID == nil, type == statusChanged, let id = data?["user_id"] {
            userID = readID(id, "/data/user_id", required: true, &errors)
        }
        if userID == nil, type != loggedIn, errors.count == before {
            userID = subject.map(userID(ofSubject:))
            if userID.map({ (1...maxUserIDBytes).contains($0.utf8.count) }) != true {
                errors.append(
                    FieldError(
                        "/data/user/id",
                        "is required when there is no subject that names the user in 1 to \(maxUserIDBytes) bytes"))
            }
        }
        var isLoggedIn = type == loggedIn
        if type == statusChanged {
            switch data?["status"]?.string {
            case "logged_in": isLoggedIn = true
            case "logged_out": isLoggedIn = false
            default: errors.append(FieldError("/data/status", "must be \"logged_in\" or \"logged_out\""))
            }
        }
        if let userID, let named = subject.flatMap(rest(of:)), !named.elementsEqual(userID.utf8) {
            errors.append(FieldError("/subject", "names another user than the data does, \(userID)"))
        }
        guard errors.count == before, let userID else { return nil }
        return AuthChange(
            userID: userID, isLoggedIn: isLoggedIn, user: user.flatMap { $0.kind == .object ? $0.bytes : nil })
    }

    private static func readID(
        _ value: JSONValue?, _ pointer: String, required: Bool, _ errors: inout [FieldError]
    ) -> String? {
        guard let value else {
            if required { errors.append(FieldError(pointer, "is required: a string or an integer")) }
            return nil
        }
        guard let id = value.string ?? value.integer.map(String.init), !id.isEmpty, id.utf8.count <= maxUserIDBytes,
            !id.hasNull
        else {
            return errors.refuse(
                pointer, "must be a string of 1 to \(maxUserIDBytes) bytes without U+0000, or an integer")
        }
        return id
    }

    /// The event that the service posts when a login or logout has changed a user's status.
    package static func statusChanged(_ status: AuthStatus, id: String, cause: Event) -> Event {
        Event(
            app: cause.app, id: id, type: statusChanged, subject: cause.subject ?? subject(ofUser: status.userID),
            time: cause.time, data: data(status, cause: cause.id))
    }

    /// The current status, for a new delegate.
    package static func current(_ status: AuthStatus, subject: String, id: String, audience: DelegateKey) -> Event {
        Event(
            app: status.app, id: id, type: statusChanged, subject: subject, time: status.since, audience: audience,
            data: data(status, cause: status.eventID))
    }

    private static func data(_ status: AuthStatus, cause: String) -> [UInt8] {
        JSONWriter.document(capacity: status.user.count + 128) {
            $0.member("user_id", status.userID)
            $0.member("status", status.isLoggedIn ? "logged_in" : "logged_out")
            $0.member("user", .raw(status.user))
            $0.member("cause", cause)
        }
    }
}

extension AuthStatus {
    /// The status after an event about the user. If nothing changes, the time and the event of the last *change* stay.
    package static func next(
        after current: AuthStatus?, userID: String, isLoggedIn: Bool, user: [UInt8]?, event: Event
    ) -> AuthStatus {
        let isChange = current?.isLoggedIn != isLoggedIn
        return AuthStatus(
            app: event.app, userID: userID, isLoggedIn: isLoggedIn, user: user ?? current?.user ?? Array("null".utf8),
            since: isChange ? event.time : current?.since ?? event.time,
            eventID: isChange ? event.id : current?.eventID ?? event.id)
    }
}
