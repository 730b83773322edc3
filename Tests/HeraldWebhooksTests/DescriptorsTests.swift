import Glibc
import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldWebhooks

/// The registrations of libcurl's sockets with epoll.
@Suite(.timeLimit(.minutes(20))) struct DescriptorsTests {
    /// The sockets that one poll of epoll finds ready, and their waiters.
    private func ready(_ descriptors: Descriptors) -> [Multi.Kind?] {
        var found: [Multi.Kind?] = []
        descriptors.epoll.wait(milliseconds: 0) { descriptor, _ in
            found.append(descriptors.waiting(for: descriptor))
        }
        return found
    }

    @Test("a connection whose transfer ended while it waited to write stays open, and its end is noticed")
    func idleAfterWriting() throws {
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        let (own, other) = (pair[0], pair[1])
        defer { close(own) }
        let descriptors = try Descriptors()

        // The answer was there before libcurl had asked to be told of it.
        descriptors.want(own, read: false, write: true, nothing: false, .http1)
        #expect(ready(descriptors) == [.http1])
        descriptors.want(own, read: false, write: false, nothing: true, .http1)
        #expect(ready(descriptors).isEmpty)
        #expect(send(other, "a", 1, Int32(MSG_NOSIGNAL)) == 1)

        // An unexpected event makes it unusable.
        #expect(ready(descriptors) == [nil])
        #expect(send(own, "a", 1, Int32(MSG_NOSIGNAL)) == -1)
        close(other)
    }

    @Test(
        "a connection that this machine can't open is no failure of the receiver",
        arguments: [EMFILE, ENFILE, ENOBUFS, ENOMEM, ENOSPC])
    func lack(_ code: Int32) throws {
        let reason = String(cString: strerror(code))
        let verdict = CurlResult.notConnected(code, try CallbackURL("http://a.example:81/"))
        #expect(verdict == .failed(.stopped, detail: "no connection can be opened: \(reason)"))
    }

    @Test("a lack of sockets is reported once a minute, and no other result")
    func report() throws {
        let count = Counter()
        var configuration = CurlSender.Configuration(version: "1", addressGuard: AddressGuard())
        configuration.reportLack = { _ in _ = count.next() }
        let sender = try CurlSender(configuration, resolver: Resolver())
        defer { sender.close { _, _ in } }
        sender.report(CurlResult.lack(ECONNREFUSED), 0)
        #expect(count.value == 0)
        for second in [0, 1, 59, 60, 61] { sender.report(CurlResult.lack(EMFILE), Int64(second) * 1_000_000_000) }
        #expect(count.value == 2)
    }

    @Test("a receiver that refuses connections has failed")
    func refusal() throws {
        let reason = String(cString: strerror(ECONNREFUSED))
        let verdict = CurlResult.notConnected(ECONNREFUSED, try CallbackURL("http://a.example:81/"))
        #expect(
            verdict
                == .failed(.connect, detail: "no address of a.example accepts connections at port 81: \(reason)"))
    }

    /// A pair of connected sockets.
    private func pair() throws -> (Int32, Int32) {
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        return (pair[0], pair[1])
    }

    @Test(
        "a socket is watched although the one that had its number was closed unannounced",
        arguments: [true, false])
    func closedSilently(isReported: Bool) throws {
        let descriptors = try Descriptors()
        let (own, other) = try pair()
        defer { close(other) }
        descriptors.begin(own, isSecure: false)
        descriptors.want(own, read: false, write: true, nothing: false, .http1)
        // As libcurl does it when a connection times out: it closes the socket, and then says that nothing is wanted.
        let (next, peer) = try pair()
        defer { close(peer) }
        try #require(dup2(next, own) == own)
        close(next)
        if isReported { descriptors.want(own, read: false, write: false, nothing: true, .http1) }
        defer {
            descriptors.forget(own)
            close(own)
        }
        descriptors.begin(own, isSecure: false)
        descriptors.want(own, read: false, write: true, nothing: false, .http2)
        #expect(ready(descriptors) == [.http2])
        #expect(send(peer, "a", 1, Int32(MSG_NOSIGNAL)) == 1)
        descriptors.want(own, read: true, write: false, nothing: false, .http2)
        #expect(ready(descriptors) == [.http2])
    }

    @Test("after the end of a sender, other sockets with the numbers of its own are read without a bound")
    func otherSocketsAfterTheEnd() throws {
        let (own, other) = try pair()
        defer {
            close(own)
            close(other)
        }
        let sender = try CurlSender(.init(version: "1", addressGuard: AddressGuard()), resolver: Resolver())
        // libcurl has closed its socket without reporting it, and the app has got the number.
        sender.descriptors.begin(own, isSecure: false)
        sender.close { _, _ in }
        let bytes = [UInt8](repeating: 1, count: 100)
        #expect(send(other, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == 100)
        var count = 0
        var byte: UInt8 = 0
        while recv(own, &byte, 1, Int32(MSG_DONTWAIT)) == 1 { count += 1 }
        #expect(count == 100)
    }
}
