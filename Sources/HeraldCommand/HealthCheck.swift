import Glibc

/// Asks a server on this machine whether it lives, for a container's health check.
enum HealthCheck {
    /// `nil` when it answers 200; else what is wrong, in words.
    static func problem(at endpoint: Endpoint) -> String? {
        let host = ["0.0.0.0": "127.0.0.1", "::": "::1"][endpoint.host] ?? endpoint.host
        let target = Endpoint(host: host, port: endpoint.port)
        guard let socket = connect(target) else { return "Nothing answers at \(target)." }
        defer { close(socket) }
        let request = Array("GET /healthz HTTP/1.1\r\nHost: \(target)\r\nConnection: close\r\n\r\n".utf8)
        guard send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            return "\(target) closed the connection."
        }
        var answer: [UInt8] = Array(repeating: 0, count: 64)
        let count = recv(socket, &answer, answer.count, Int32(MSG_WAITALL))
        let line = String(decoding: answer.prefix(max(0, count)).prefix { $0 != 13 }, as: UTF8.self)
        return line.hasPrefix("HTTP/1.1 200") ? nil : "\(target) answered: \(line.isEmpty ? "nothing" : line)"
    }

    private static func connect(_ endpoint: Endpoint) -> Int32? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(endpoint.host, String(endpoint.port), &hints, &list) == 0, let list else { return nil }
        defer { freeaddrinfo(list) }
        let descriptor = socket(list.pointee.ai_family, list.pointee.ai_socktype, 0)
        guard descriptor >= 0 else { return nil }
        var limit = timeval(tv_sec: 3, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard Glibc.connect(descriptor, list.pointee.ai_addr, list.pointee.ai_addrlen) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
