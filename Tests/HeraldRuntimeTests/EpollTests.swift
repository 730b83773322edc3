import Glibc
import HeraldRuntime
import Testing

/// Registrations and events of epoll.
@Suite struct EpollTests {
    private func pair() throws -> (Int32, Int32) {
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        return (pair[0], pair[1])
    }

    @Test("an event of a closed descriptor is not taken for one of its successor with the same number")
    func generations() throws {
        let epoll = try Epoll()
        let (first, firstPeer) = try pair()
        let (second, secondPeer) = try pair()
        let (third, thirdPeer) = try pair()
        defer { for descriptor in [firstPeer, secondPeer, third, thirdPeer] { close(descriptor) } }
        try epoll.add(first, .read)
        try epoll.add(second, .read)
        close(firstPeer)
        close(secondPeer)
        var reported: [Int32] = []
        epoll.wait(milliseconds: 0) { descriptor, _ in
            reported.append(descriptor)
            // The handling of the first event closes the other descriptor, and another socket gets its number.
            guard reported.count == 1 else { return }
            let number = descriptor == first ? second : first
            #expect(dup2(third, number) == number)
            #expect(throws: Never.self) { try epoll.add(number, .read) }
        }
        #expect(reported.count == 1)
        // The successor is watched.
        #expect(send(thirdPeer, "a", 1, Int32(MSG_NOSIGNAL)) == 1)
        var later: [Int32] = []
        epoll.wait(milliseconds: 0) { descriptor, interest in if interest.contains(.read) { later.append(descriptor) } }
        #expect(later.contains(first) && later.contains(second))
        close(first)
        close(second)
    }

    @Test("a change that epoll refuses is counted, and one of a closed descriptor is not")
    func failures() throws {
        let epoll = try Epoll()
        let (own, peer) = try pair()
        close(peer)
        close(own)
        let before = EpollFailures.count
        #expect(!epoll.modifyIfOpen(own, .read))
        #expect(throws: SystemError.self) { try epoll.modify(-1, .read) }
        #expect(EpollFailures.count > before)
    }
}
