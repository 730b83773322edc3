import HeraldTestSupport

/// An access key as the server showed it.
struct MadeKey: Sendable {
    let id: String
    let text: String

    var headers: [String: String] { ["Authorization": "Bearer \(text)"] }

    init(id: String, text: String) {
        self.id = id
        self.text = text
    }

    init(_ answer: Answer) throws {
        guard answer.status == 201, let text = answer.string("key") else {
            throw HeraldFailure(what: "no key was made: \(answer.text)")
        }
        self.init(id: answer.id, text: text)
    }
}

extension MadeKey {
    /// The operator's of tests that start with `adminKey: "the-admin-of-these-tests"`.
    static let admin = MadeKey(id: "", text: "the-admin-of-these-tests")
}

extension HeraldProcess {
    /// Makes a key of an app, as the operator.
    func makeKey(_ scopes: String, in app: String) async throws -> MadeKey {
        let body = #"{"name": "A key", "scopes": ["\#(scopes)"], "app": "\#(app)"}"#
        return try MadeKey(try await post("/v1/keys", body))
    }

    /// The operator's key in a file.
    func keyFile() throws -> String {
        let path = folder.path + "/key"
        try Files.write(Array(MadeKey.admin.text.utf8), to: path)
        return path
    }

    /// - Parameter scopes: one, or several as they stand between quotation marks in JSON.
    func makeKey(
        _ scopes: String, by admin: MadeKey? = nil, _ headers: [String: String] = [:]
    ) async throws -> MadeKey {
        let body = #"{"name": "A key", "scopes": ["\#(scopes)"]}"#
        return try MadeKey(try await post("/v1/keys", body, (admin?.headers ?? [:]).merging(headers) { $1 }))
    }
}
