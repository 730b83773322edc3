import Glibc
import HeraldJSON
import HeraldTestSupport

/// Judges signatures without any of our own code.
enum Signature {
    /// The signature that a request should carry, by `openssl`.
    static func byOpenSSL(of request: ReceivedRequest, secret: String) async throws -> String {
        let key = try await openssl(["base64", "-d", "-A"], Array(secret.dropFirst("whsec_".count).utf8), asHex: true)
        let signed = "\(request.header("webhook-id") ?? "").\(request.header("webhook-timestamp") ?? "")."
        let arguments = ["dgst", "-sha256", "-mac", "HMAC", "-macopt", "hexkey:\(key)", "-binary"]
        let hex = try await openssl(arguments, Array(signed.utf8) + request.body, asHex: true)
        return "v1," + (try await base64(hex))
    }

    /// Returns the verdict of `standardwebhooks` from PyPI; `nil` when there is no Python with it.
    /// - Parameter appending: added to the body, to be found wrong.
    static func byStandardWebhooks(
        _ request: ReceivedRequest, appending: [UInt8] = [], secret: String
    ) async throws -> Bool? {
        guard let venv = getenv("HERALD_VENV").map({ String(cString: $0) }) else { return nil }
        let script = """
            import sys
            from standardwebhooks.webhooks import Webhook
            headers = dict(zip(("webhook-id", "webhook-timestamp", "webhook-signature"), sys.argv[2:]))
            Webhook(sys.argv[1]).verify(sys.stdin.buffer.read(), headers)
            print("verified")
            """
        let values = ["webhook-id", "webhook-timestamp", "webhook-signature"].map { request.header($0) ?? "" }
        let result = try await ChildProcess.run(
            venv + "/bin/python3", ["-c", script, secret] + values, input: request.body + appending)
        return result.text == "verified"
    }

    private static func openssl(_ arguments: [String], _ input: [UInt8], asHex: Bool) async throws -> String {
        // As text, since the output is gathered by lines.
        let command = (["openssl"] + arguments).joined(separator: " ") + " | od -An -v -tx1 | tr -d ' \\n'"
        let result = try await ChildProcess.run("sh", ["-c", command], input: input)
        guard result.end == .exited(0), !result.text.isEmpty else {
            throw HeraldFailure(what: "openssl: \(result.text)")
        }
        return result.text
    }

    private static func base64(_ hex: String) async throws -> String {
        let digits = Array(hex)
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
        return try await ChildProcess.run("openssl", ["base64", "-A"], input: bytes).text
    }
}
