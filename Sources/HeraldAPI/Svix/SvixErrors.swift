import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Errors in the form of Svix: `{"code", "detail"}`, and for 422 `{"detail": [{"loc", "msg", "type"}]}`.
extension Problem {
    static func svixNotFound(_ kind: String, _ id: String) -> Problem {
        .notFound("There is no \(kind) with the id or uid \(id.prefix(256)).")
    }

    static func svixUnsupported(_ why: String) -> Problem {
        Problem(
            status: 501, name: "not-implemented", title: "Herald has no counterpart of this operation",
            detail: "Herald has no counterpart of this operation of Svix. \(why)")
    }

    /// The problem with the pointers of Svix's fields.
    /// - Parameter names: by the pointers of Herald's fields.
    func svixRenamed(_ names: [String: String]) -> Problem {
        changingFields { error in
            let pointer = error.pointer
            guard let (own, name) = names.first(where: { pointer == $0.key || pointer.hasPrefix($0.key + "/") }) else {
                return error
            }
            return FieldError(name + pointer.dropFirst(own.count), error.detail)
        }
    }

    /// The problem with other errors of fields; those of parameters stay.
    func changingFields(_ change: (FieldError) -> FieldError) -> Problem {
        var problem = self
        problem.items = items.map { item in
            guard case .pointer(let pointer) = item.place else { return item }
            return Item(change(FieldError(pointer, item.detail)))
        }
        return problem
    }

    func svixResponse(requestID: String) -> Response {
        var response = Response.json(status: status, headers) { error in
            guard status == 422 else {
                error.member("code", name.replaced("-", by: "_"))
                error.member("detail", svixDetail)
                return
            }
            // SDKs read a list from every 422.
            let entries = items.isEmpty ? [Item(place: .pointer(""), detail: detail)] : items
            error.array("detail", of: entries) { item, entry in
                entry.member("loc", Self.location(item.place))
                entry.member("msg", item.detail)
                entry.member("type", "value_error")
            }
        }
        response.holdMilliseconds = holdMilliseconds
        return response
    }

    /// The detail with Svix's resources and paths instead of Herald's.
    private var svixDetail: String {
        switch cause {
        case .delegateGone(let id):
            "The receiver of the endpoint \(id) responded with 410. Enable the endpoint first: "
                + "PATCH \(SvixEndpoints.root)/app/{app_id}/endpoint/\(id) with {\"disabled\": false}."
        case .unverified(let id): "The endpoint \(id) gets no callbacks before its receiver has agreed."
        case .urlTaken(let id):
            "The endpoint \(id) gets the same requests at this URL for some of these messages. Change or delete it first."
        case .eventDamaged, .notFound:
            detail.replaced("the event ", by: "the message ").replaced("no event ", by: "no message ")
                .replaced("no delegate ", by: "no endpoint ")
        default: detail
        }
    }

    private static func location(_ place: Item.Place) -> [String] {
        switch place {
        case .parameter(let name): ["query", name]
        case .pointer(let pointer):
            ["body"] + pointer.split(separator: "/").map { JSONPointer.key($0) ?? String($0) }
        }
    }
}
