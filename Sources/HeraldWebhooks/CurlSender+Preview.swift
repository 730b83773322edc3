import CHeraldCurl
package import HeraldModel
import HeraldRuntime

extension CurlSender {
    /// `clock` and `configuration` are immutable; everything else is made for this call.
    package func preview(_ callback: Callback) -> RequestPreview {
        do throws(TransferError) {
            let target = try Target(
                callback.delegate, userAgent: userAgent, origin: configuration.origin,
                addressGuard: configuration.addressGuard, proxies: configuration.proxies)
            return .request(try preview(callback, target, now: clock.wall()))
        } catch {
            return .notMade(error.field)
        }
    }

    private func preview(
        _ callback: Callback, _ target: Target, now: Int64
    ) throws(TransferError) -> RequestPreview.Request {
        var encoder = PayloadEncoder(source: configuration.source)
        let recipe = try target.recipe?.request(
            callback, to: target.url, &encoder, token: target.tokens.map { _ in Self.hidden }, now: now)
        let payload = recipe?.payload ?? encoder.payload(callback.event, callback.delegate.settings.format)
        let body = Array(payload.bytes[payload.range])
        var lines: [String] = []
        if recipe?.hasStandardSignature ?? true {
            let headers = CallbackHeaders()
            try body.withUnsafeBufferPointer { body throws(TransferError) in
                try headers.write(callback, target.signers, UnsafeRawBufferPointer(body), now: now)
            }
            lines += HeaderList.lines(headers.first)
        }
        lines += callback.ownLines
        lines += recipe?.lines ?? payload.headers.map { "\($0.key): \($0.value)" }
        lines += HeaderList.lines(target.headers.first)
        return RequestPreview.Request(
            method: recipe?.method.rawValue ?? "POST", url: recipe?.url.text ?? target.url.text,
            headers: shown(lines, of: target), body: body)
    }

    private static let hidden = "***"

    /// The lines as names and values, those of one name as one. The values of the delegate's headers, and what proves who sends,
    /// are never shown.
    private func shown(_ lines: [String], of target: Target) -> [KeyValue] {
        let names = target.delegate.settings.headers.map(\.key) + (target.recipe?.tokenHeaders ?? [])
        let secret = Set(names.map { $0.lowercased() })
        let headers: [KeyValue] = lines.compactMap { line in
            guard let end = line.firstIndex(where: { $0 == ":" || $0 == ";" }) else { return nil }
            let name = line[..<end].lowercased()
            let value = line[line.index(after: end)...].drop { $0 == " " }
            // With an empty value and no semicolon, libcurl leaves the header out.
            if value.isEmpty, line[end] == ":" { return nil }
            if secret.contains(name) { return KeyValue(name, Self.hidden) }
            if name == "authorization" {
                return KeyValue(name, value.split(separator: " ").prefix(1).joined() + " " + Self.hidden)
            }
            return KeyValue(name, String(value))
        }
        return headers.reduce(into: []) { shown, header in
            guard let index = shown.firstIndex(where: { $0.key == header.key }) else { return shown.append(header) }
            shown[index] = KeyValue(header.key, "\(shown[index].value), \(header.value)")
        }
    }
}
