import Glibc
import HeraldCore
import HeraldJSON
import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("The log of delegates")
struct DelegateLogTests {
    /// The written lines.
    private func lines(
        format: Log.Format = .json, of body: (DelegateLog, Log) -> Void
    ) throws -> [String] {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let log = try Log(format: format, level: .info, descriptor: ends[1])
        body(DelegateLog(log, clock: { 2_000 }), log)
        log.end()
        close(ends[1])
        var text: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(ends[0], &part, part.count)
            guard count > 0 else { break }
            text += part[..<count]
        }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func delegate(
        _ status: WebhookDelegate.Status = .active, reason: String? = nil, expiresAt: Int64? = nil,
        url: String = "https://receiver.example/a?token=secret"
    ) -> WebhookDelegate {
        WebhookDelegate(1, url: url, status: status, reason: reason, expiresAt: expiresAt)
    }

    @Test("a loss of the storage during a stop is logged, and sends no signal, which would be taken for a second one")
    func lossDuringStop() throws {
        let database = "postgres://db/herald"
        let written = try lines { _, log in
            let storage = StorageLog(log, place: database)
            #expect(storage.end() == nil)
            // A signal would end this process.
            storage.storageChanged(.lost(.replaced(path: database, reason: "another server has taken over")))
            #expect(storage.end() == nil)
        }
        #expect(written.count == 1 && written[0].contains("the storage was lost during the stop"))
    }

    @Test("each change of a status is one line with id and origin, without path; other changes are not logged")
    func registry() throws {
        let written = try lines { log, _ in
            log.registryChanged(.registered(delegate(.pendingVerification)))
            log.registryChanged(.changed(from: delegate(.pendingVerification), to: delegate()))
            log.registryChanged(.changed(from: delegate(), to: delegate(url: "https://receiver.example/b")))
            log.registryChanged(.changed(from: delegate(), to: delegate(.gone, reason: "it answered 410")))
            log.registryChanged(.removed(delegate(expiresAt: 2_001)))
            log.registryChanged(.removed(delegate(expiresAt: 2_000)))
        }
        let told = try written.map { line in
            let entry = try JSONDocument(parsing: line)
            #expect(entry["level"]?.string == "info")
            #expect(entry["delegate"]?.string == "dlg_1")
            #expect(entry["url"]?.string == "https://receiver.example/…")
            return ["message", "from", "status", "reason"].compactMap { entry[$0]?.string }
        }
        #expect(
            told == [
                ["delegate registered", "pending_verification"],
                ["delegate changed status", "pending_verification", "active"],
                ["delegate changed status", "active", "gone", "it answered 410"],
                ["delegate removed"], ["delegate expired"],
            ])
    }

    @Test("text from outside stays on its line")
    func injection() throws {
        let written = try lines(format: .human) { log, _ in
            log.registryChanged(.changed(from: delegate(), to: delegate(.disabled, reason: "no\n\"route\"")))
        }
        #expect(written.count == 1)
        #expect(written.first?.hasSuffix(#"  from=active  status=disabled  reason="no\n\"route\"""#) == true)
    }

    @Test("events of the service are logged, equal types published by clients are not")
    func events() throws {
        func event(_ type: String, _ data: String, _ attributes: [KeyValue] = []) -> Event {
            Event(type, subject: "dlg_1", attributes: attributes, data: data)
        }
        let written = try lines { log, _ in
            log.published(
                EventBatch(
                    first: 1,
                    events: [
                        event("order.placed", "{}"),
                        event(
                            "herald.delegate.failing", #"{"delegate":"dlg_1","url":"https://a.example/","reason":"r"}"#),
                        event(
                            "herald.delegate.recovered",
                            #"{"delegate":"dlg_1","url":"https://a.example/","failing_since":"2026-11-21T12:00:00.000Z"}"#
                        ),
                        event(
                            "herald.delivery.exhausted",
                            #"{"delegate":"dlg_1","url":"https://a.example/?k=1","event":"e1","event_type":"a.b","attempts":3}"#,
                            [KeyValue("traceparent", "00-1-2-00")]),
                    ]))
        }
        #expect(written.count == 3)
        let told = try written.dropLast().map { line in
            let entry = try JSONDocument(parsing: line)
            return ["level", "message", "reason", "failing_since"].compactMap { entry[$0]?.string }
        }
        #expect(
            told == [["info", "delegate failing", "r"], ["info", "delegate recovered", "2026-11-21T12:00:00.000Z"]])
        let entry = try JSONDocument(parsing: try #require(written.last))
        #expect(
            entry.root.members.dropFirst().map { "\($0.key) \($0.value.string ?? "")" } == [
                "level warning", "message delivery exhausted", "delegate dlg_1", "url https://a.example/…",
                "event e1", "event_type a.b", "attempts 3", "traceparent 00-1-2-00",
            ])
    }

    @Test("a log that is not read blocks no thread: lines are dropped and counted")
    func bound() throws {
        let isFree = Semaphore()
        let hasBegun = Semaphore()
        // Short enough for a pipe.
        let written = try lines(format: .human) { _, log in
            log.write(.info, "first") {
                hasBegun.signal()
                isFree.wait()
                return [:]
            }
            hasBegun.wait()
            for _ in 0..<Log.maxWaiting { log.info("next") }
            for _ in 0..<8 { log.info("never") }
            isFree.signal()
        }
        #expect(written.count == Log.maxWaiting + 2)
        #expect(written.last?.hasSuffix("warning  log lines were left out  lines=8") == true)
        #expect(!written.contains { $0.hasSuffix("never") })
    }

    @Test("a line that is never written, such as on a disk that hangs, holds up no stop")
    func hangs() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let log = try Log(format: .human, level: .info, descriptor: ends[1])
        let isFree = Semaphore()
        // As for a file on a disk, `poll` says that there is room.
        log.write(.info, "hangs") {
            isFree.wait()
            return [:]
        }
        log.end(seconds: 1)
        isFree.signal()
        var byte: UInt8 = 0
        // The thread writes the line before the pipe is closed.
        #expect(read(ends[0], &byte, 1) == 1)
    }

    @Test("lines that could not be written are counted, and reported with the next one that is")
    func full() throws {
        let isFull = Glibc.open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(isFull) }
        var ends: [Int32] = [0, 0]
        try #require(isFull >= 0)
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let log = try Log(format: .human, level: .info, descriptor: isFull)
        let (hasBegun, hasRoom) = (Semaphore(), Semaphore())
        for _ in 0..<3 { log.info("lost") }
        // Called when the lines before were lost, and before this one is written.
        log.write(.info, "written") {
            hasBegun.signal()
            hasRoom.wait()
            return [:]
        }
        hasBegun.wait()
        #expect(dup2(ends[1], isFull) == isFull)
        close(ends[1])
        hasRoom.signal()
        log.end()
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &bytes, bytes.count)
        let lines = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasSuffix("info  written") == true)
        #expect(lines.last?.hasSuffix("warning  log lines were left out  lines=3") == true)
    }

    @Test(
        "the first line writes durations and sizes as in the settings",
        arguments: [("90m", "512MiB"), ("36h", "10GiB"), ("7d", "2TiB"), ("forever", "unlimited")])
    func settings(duration: String, size: String) throws {
        let settings = try Settings(arguments: ["--retention", duration, "--retention-size", size], environment: [:])
        #expect(Option.describe(duration: settings.retention.events) == duration)
        #expect(Option.describe(size: settings.retention.bytes) == size)
    }
}
