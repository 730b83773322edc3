import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An event to post.
struct LoggedIn: Encodable {
    struct Payload: Encodable { let user: User }
    struct User: Encodable {
        let id: String
        let plan: String
    }

    let type = "auth.logged_in"
    let data: Payload
}

/// - Returns: a description of the response.
func post(_ event: LoggedIn, to server: URL) async throws -> String {
    var request = URLRequest(url: server.appending(path: "v1/events"))
    request.httpMethod = "POST"
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    request.httpBody = try JSONEncoder().encode(event)
    let (body, response) = try await URLSession.shared.data(for: request)
    guard (response as? HTTPURLResponse)?.statusCode == 202 else {
        return "Herald didn't accept it: \(String(decoding: body, as: UTF8.self))"
    }
    let posted = try JSONSerialization.jsonObject(with: body) as? [String: Any]
    return "Herald notifies its delegates: \(posted?["type"] ?? "?") of \(posted?["subject"] ?? "?")"
}

let arguments = CommandLine.arguments
guard let server = URL(string: arguments.count > 1 ? arguments[1] : "http://127.0.0.1:8080") else {
    print("usage: SignUpForm [URL OF HERALD]")
    exit(64)
}

var done: LoggedIn?
let form = SignUpForm { form, exit in
    print("The form leads to \(exit).")
    let user = LoggedIn.User(id: form["Name"].lowercased(), plan: form["Plan (free or pro)"])
    done = LoggedIn(data: .init(user: user))
}
form.run()
if let done {
    do {
        print(try await post(done, to: server))
    } catch {
        print("Herald at \(server) can't be reached: \(error.localizedDescription)")
        exit(1)
    }
}
