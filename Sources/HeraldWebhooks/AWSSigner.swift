import HeraldCrypto
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Signature Version 4 of Amazon Web Services, in headers: docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html.
///
/// It covers the method, the URL, the body and the headers `host`, `content-type` and `x-amz-…`: proxies may change others.
/// libcurl would sign too, but until 8.0 without the digest of the body, which S3 requires, and with paths and queries that
/// Amazon encodes and sorts otherwise.
struct AWSSigner {
    let region: String
    let service: String
    let keyID: String
    let secret: String

    /// The lines of headers that sign a request.
    /// - Parameters:
    ///   - lines: the other headers of the request, in libcurl's notation.
    ///   - now: milliseconds since 1970 UTC.
    func lines(
        _ method: String, _ url: CallbackURL, _ lines: [String], body: [UInt8], now: Int64
    ) throws(CryptoError) -> [String] {
        let time = Self.time(now)
        var headers = ["x-amz-date": [time]]
        for line in lines {
            guard let end = line.firstIndex(where: { $0 == ":" || $0 == ";" }) else { continue }
            let name = line[..<end].lowercased()
            guard name == "content-type" || name.hasPrefix("x-amz-") else { continue }
            let words = line[line.index(after: end)...].split { $0 == " " || $0 == "\t" }
            // With an empty value and no semicolon, libcurl leaves the header out.
            if words.isEmpty, line[end] == ":" { continue }
            headers[name, default: []].append(words.joined(separator: " "))
        }
        var result = ["x-amz-date: \(time)"]
        let digest: String
        // A recipe may have one of its own, such as UNSIGNED-PAYLOAD.
        if let given = headers[Self.digestName]?.first {
            digest = given
        } else {
            digest = Hex.encode(SHA256.hash(body))
            headers[Self.digestName] = [digest]
            result.append("\(Self.digestName): \(digest)")
        }
        // `https://host:port/path?query`, as libcurl prints it.
        let parts = url.text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        headers["host"] = [parts.count > 2 ? String(parts[2]) : url.host]
        let target = (parts.count > 3 ? parts[3] : "")
            .split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let names = headers.keys.sorted()
        let signed = names.joined(separator: ";")
        var request = [method, path(target[0]), target.count > 1 ? Self.query(target[1]) : ""]
        for name in names { request.append("\(name):\(headers[name, default: []].joined(separator: ","))") }
        request += ["", signed, digest]

        let day = String(time.prefix(8))
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        let text = [
            "AWS4-HMAC-SHA256", time, scope, Hex.encode(SHA256.hash(Array(request.joined(separator: "\n").utf8))),
        ]
        var code = Array("AWS4\(secret)".utf8)
        for part in [day, region, service, "aws4_request", text.joined(separator: "\n")] {
            let hmac = try HMAC(key: code)
            hmac.update(Array(part.utf8))
            code = try hmac.finish()
        }
        result.append(
            "authorization: AWS4-HMAC-SHA256 Credential=\(keyID)/\(scope), SignedHeaders=\(signed), "
                + "Signature=\(Hex.encode(code))")
        return result
    }

    private static let digestName = "x-amz-content-sha256"

    /// `20260921T141320Z`
    private static func time(_ now: Int64) -> String {
        let digits = Timestamp(milliseconds: now).description.filter { $0 != "-" && $0 != ":" }
        return String(digits.prefix(15)) + "Z"
    }

    // MARK: The URL

    /// The services that sign the path as it is, encoded once. All others encode what was sent once more, and take several slashes
    /// for one.
    private static let storage: Set<String> = ["s3", "s3express", "s3-outposts", "s3-object-lambda"]

    /// - Parameter text: what follows the first slash.
    private func path(_ text: Substring) -> String {
        let isStorage = Self.storage.contains(service)
        let slash = UInt8(ascii: "/")
        var output = [slash]
        for byte in isStorage ? PercentEscapes.decode(Array(text.utf8)) : Array(text.utf8) {
            if byte != slash {
                URLPart.append(byte, to: &output)
            } else if isStorage || output.last != slash {
                output.append(slash)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func query(_ text: Substring) -> String {
        var fields: [(name: String, value: String)] = []
        for field in text.split(separator: "&") {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            fields.append((encoded(parts[0]), parts.count > 1 ? encoded(parts[1]) : ""))
        }
        fields.sort { one, two in one.name == two.name ? one.value < two.value : one.name < two.name }
        return fields.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }

    /// A part of the query, with the escapes that Amazon writes. A plus sign is a space to it.
    private static func encoded(_ text: Substring) -> String {
        let bytes = Array(text.replaced("+", by: "%20").utf8)
        var output: [UInt8] = []
        for byte in PercentEscapes.decode(bytes) { URLPart.append(byte, to: &output) }
        return String(decoding: output, as: UTF8.self)
    }
}
