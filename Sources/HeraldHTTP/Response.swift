internal import CHeraldMicrohttpd
import Glibc

/// A response. The server adds `Content-Length`, `Date` and `Connection`.
package struct Response: Sendable {
    /// A header field of a response.
    package struct Field: Sendable {
        package let name: StaticString
        /// A field whose value has a control character is never sent.
        package let value: String

        package init(_ name: StaticString, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package var status: Int
    package var headers: [Field]
    package var body: [UInt8]
    /// Closes the connection after this response.
    package var closesConnection = false
    /// How long the response is delayed, in milliseconds; then the connection is closed. For clients that guess keys.
    /// During the delay the connection costs no more than an idle one. Applies to refusals by `authorize`, and to responses
    /// within `handle`; other responses are late already, and are sent at once.
    package var holdMilliseconds = 0

    package init(status: Int, headers: [Field] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

extension Response.Field {
    /// Whether the value can't start another line.
    var isSafe: Bool { areValueBytes(value.utf8.span) }

    func isNamed(_ other: StaticString) -> Bool {
        guard name.utf8CodeUnitCount == other.utf8CodeUnitCount else { return false }
        for index in 0..<name.utf8CodeUnitCount
        where lowercased(name.utf8Start[index]) != lowercased(other.utf8Start[index]) {
            return false
        }
        return true
    }
}

// Responses that libmicrohttpd does not write: streams, and the last response of a connection.
extension Response {
    /// The bytes of the response, with `Connection: close`.
    func bytes(wall: Int64, hasBody: Bool = true) -> [UInt8] {
        let reason = MHD_get_reason_phrase_for(UInt32(status)).map { String(cString: $0) } ?? ""
        var text = "HTTP/1.1 \(status) \(reason)\r\nDate: \(httpDate(wall))\r\nConnection: close\r\n"
        text += Self.lines(headers)
        text += "Content-Length: \(body.count)\r\n\r\n"
        return Array(text.utf8) + (hasBody ? body : [])
    }

    static func streamHead(_ headers: [Field], wall: Int64) -> [UInt8] {
        let text = "HTTP/1.1 200 OK\r\nDate: \(httpDate(wall))\r\nConnection: close\r\n"
        return Array((text + lines(headers) + "\r\n").utf8)
    }

    private static func lines(_ fields: [Field]) -> String {
        var text = ""
        for field in fields where field.isSafe && !field.isServersBusiness {
            text += "\(field.name): \(field.value)\r\n"
        }
        return text
    }
}

/// RFC 9110: `Sun, 06 Nov 1994 08:49:37 GMT`.
/// - Parameter wall: milliseconds since 1970.
private func httpDate(_ wall: Int64) -> String {
    var seconds = time_t(wall / 1000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let date = "\(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)"
    return "\(days[Int(parts.tm_wday)]), \(date) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
}
