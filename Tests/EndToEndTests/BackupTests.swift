import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Backups and recovery", .enabled(if: TestStore.isFolder), .serialized)
struct BackupTests {
    @Test("a backup of a server under load restores to a server that continues", .timeLimit(.minutes(20)))
    func backup() async throws {
        let herald = try await HeraldProcess.start()
        let folder = herald.folder.path
        let (_, id) = try await herald.registerReceiver()
        for _ in 0..<200 { try await herald.publish() }
        async let made = Binary.run(["backup", folder + "/a.backup", "--data", folder + "/data"])
        for _ in 0..<100 { try await herald.publish() }
        let answer = try await made
        #expect(answer.end == .exited(0), "\(answer.text)")
        #expect(try await Binary.run(["check", folder + "/a.backup"]).end == .exited(0))
        #expect(try await Binary.run(["backup", folder + "/a.backup", "--data", folder + "/data"]).end == .exited(73))
        #expect(try await herald.stop() == .exited(0))

        let restored = folder + "/restored"
        #expect(try await Binary.run(["restore", folder + "/a.backup", "--data", restored]).end == .exited(0))
        #expect(try await Binary.run(["restore", folder + "/a.backup", "--data", restored]).end == .exited(73))
        let next = try await HeraldProcess.start(data: restored)
        #expect(try await next.get("/v1/delegates/\(id)").status == 200)
        _ = try await next.deliveries(of: try await next.publish(), "delivered")
        #expect(try await next.stop() == .exited(0))
    }

    @Test(
        "the folder is that of the settings; the database of a server with PostgreSQL is not copied from an old folder")
    func source() async throws {
        let herald = try await HeraldProcess.start()
        try await herald.publish()
        let folder = herald.folder.path
        let settings = try herald.folder.write("HERALD_DATA=\(folder)/data\n", to: "herald.conf")
        let made = try await Binary.run(["backup", folder + "/a.backup"], environment: ["HERALD_CONFIG": settings])
        #expect(made.end == .exited(0), "\(made.text)")
        #expect(made.text.hasPrefix("\(folder)/data → \(folder)/a.backup: "), "\(made.text)")

        let store = ["HERALD_STORE": "postgres://herald@db1/herald", "HERALD_DATA": folder + "/data"]
        let refused = try await Binary.run(["backup", folder + "/b.backup"], environment: store)
        #expect(refused.end == .exited(64) && refused.text.contains("pg_basebackup"), "\(refused.text)")
        _ = try herald.folder.write("HERALD_STORE=postgres://herald@db1/herald\n", to: "herald.conf")
        let named = try await Binary.run(["backup", folder + "/b.backup"], environment: ["HERALD_CONFIG": settings])
        #expect(named.end == .exited(64) && named.text.contains("pg_basebackup"), "\(named.text)")
        let names = try Files.names(in: folder)
        #expect(!names.contains("b.backup"))
        let given = try await Binary.run(
            ["backup", folder + "/b.backup", "--data", folder + "/data"], environment: store)
        #expect(given.end == .exited(0), "\(given.text)")
    }

    @Test("no folder is made beside the PostgreSQL database of a server, and none at the address of one")
    func databases() async throws {
        let herald = try await HeraldProcess.start()
        let folder = herald.folder.path
        let (url, backup) = ("postgres://herald@db1/herald", folder + "/a.backup")
        #expect(try await Binary.run(["backup", backup, "--data", folder + "/data"]).end == .exited(0))
        let restored = ["HERALD_STORE": url, "HERALD_DATA": folder + "/restored"]
        let refusals: [(arguments: [String], environment: [String: String])] = [
            (["restore", backup], restored), (["restore", backup, "--data", url], [:]), (["restore", url], [:]),
            (["salvage", url, folder + "/salvaged"], [:]), (["salvage", folder + "/data", url], [:]),
            (["backup", url, "--data", folder + "/data"], [:]),
        ]
        for (arguments, environment) in refusals {
            let refused = try await Binary.run(arguments, environment: environment)
            #expect(refused.end == .exited(64), "\(arguments): \(refused.text)")
            #expect(refused.text.contains("herald \(arguments[0])` is for data folders"), "\(refused.text)")
        }
        #expect(try Files.names(in: folder).allSatisfy { !["restored", "salvaged"].contains($0) })
        let given = try await Binary.run(
            ["restore", backup, "--data", folder + "/restored"], environment: restored)
        #expect(given.end == .exited(0), "\(given.text)")
    }

    @Test("the schedule makes a backup that is due at the start, and keeps as many as it should")
    func schedule() async throws {
        let backups = TemporaryFolder()
        let old = ["herald-2020-01-01T000000.000Z.backup", "herald-2020-01-02T000000.000Z.backup"]
        for name in old + ["notes.txt"] { try Files.write([1], to: backups.path + "/" + name) }
        let herald = try await HeraldProcess.start(["--backup-folder", backups.path, "--backup-keep", "2"])
        _ = try await eventually("a backup is made") { herald.log("backup made").first }
        let names = try Files.names(in: backups.path).sorted()
        #expect(names.count == 3 && names.contains(old[1]) && names.contains("notes.txt"))
        let made = try #require(names.first { $0 > old[1] && $0.hasPrefix("herald-") })
        #expect(try await Binary.run(["check", backups.path + "/" + made]).end == .exited(0))
        let metrics = try await herald.get("/metrics").text
        #expect(metrics.contains(#/\nherald_last_backup_timestamp_seconds [1-9]/#))
        #expect(metrics.contains("\nherald_backup_interval_seconds 86400\n"))
        #expect(metrics.contains("\nherald_backups_failed_total 0\n"))
        #expect(try await herald.get("/v1/storage").string("last_backup_at") != nil)
        // The next one is due in a day.
        #expect(try await herald.stop() == .exited(0))
        let next = try await herald.restart(["--backup-folder", backups.path, "--backup-keep", "2"])
        try await next.publish()
        #expect(try await next.stop() == .exited(0))
        #expect(next.log("backup made").isEmpty)
    }

    @Test("a backup of a time to come neither delays others nor counts, and what a crash has left of one is removed")
    func wrongClock() async throws {
        let backups = TemporaryFolder()
        let stay = [
            "herald-9999-01-01T000000.000Z.backup", "herald-9999-01-02T000000.000Z.backup", "other.backup.partial",
        ]
        let cutOff = ["partial", "partial.lock"].map { "herald-2020-01-01T000000.000Z.backup.\($0)" }
        for name in stay + cutOff { try Files.write([1], to: backups.path + "/" + name) }
        let herald = try await HeraldProcess.start(["--backup-folder", backups.path, "--backup-keep", "1"])
        let file = try await eventually("a backup is made") { herald.log("backup made").first?["file"]?.string }
        let names = try Files.names(in: backups.path)
        #expect(names.count == 4 && Set(names).isDisjoint(with: cutOff) && Set(names).isSuperset(of: stay), "\(names)")
        #expect(names.contains { file == backups.path + "/" + $0 }, "\(names)")
    }

    @Test("Ctrl-C ends a backup, of which nothing is left")
    func interrupted() async throws {
        let herald = try await HeraldProcess.start()
        let folder = herald.folder.path
        // The signal waits from before the start on, so that it comes during the backup, however long that takes.
        let code = """
            import os, signal, sys
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            os.kill(os.getpid(), signal.SIGINT)
            os.execv(sys.argv[1], sys.argv[1:])
            """
        let (end, text) = try await ChildProcess.run(
            "python3", ["-c", code, try Binary.path(), "backup", folder + "/a.backup", "--data", folder + "/data"])
        #expect(end == .exited(130), "\(text)")
        #expect(try await Binary.run(["backup", "--help"]).text.contains("exit code 130"))
        let names = try Files.names(in: folder)
        #expect(!names.contains { $0.hasPrefix("a.backup") }, "\(names)")
        #expect(try await herald.stop() == .exited(0))
    }

    @Test("a folder that cannot be used is refused with the reason")
    func unusable() async throws {
        let refused = try await Binary.run(["config", "--backup-folder", "/nonexistent"])
        #expect(refused.end == .exited(64), "\(refused.text)")
        let reason = "a folder that can be read and written (No such file or directory)."
        #expect(refused.text.contains(reason), "\(refused.text)")
    }

    @Test(
        "a folder whose backups cannot be listed, and so not be removed, is refused",
        .enabled(if: getuid() != 0 || ChildProcess.exists("setpriv")))
    func unlisted() async throws {
        let backups = TemporaryFolder()
        chmod(backups.path, 0o300)
        defer { chmod(backups.path, 0o700) }
        // Root may read each folder, unless it has no capabilities.
        let prefix = getuid() == 0 ? ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] : ["env"]
        let command = [try Binary.path(), "config", "--backup-folder", backups.path]
        let refused = try await ChildProcess.run(prefix[0], prefix.dropFirst() + command)
        #expect(refused.end == .exited(64), "\(refused.text)")
        #expect(refused.text.contains("read and written (Permission denied)"), "\(refused.text)")
    }

    @Test("a backup that fails is logged and counted")
    func failed() async throws {
        // No files can be made there.
        let herald = try await HeraldProcess.start(["--backup-folder", "/proc"])
        _ = try await eventually("the backup fails") { herald.log("backup failed").first }
        let storage = try await herald.get("/v1/storage")
        #expect(storage.integer("failed_backups") == 1 && storage["last_backup_at"]?.isNull == true)
        #expect(try await herald.get("/metrics").text.contains("\nherald_backups_failed_total 1\n"))
    }

    @Test("a log that was cut after a crash stops the start, and what is intact is salvaged")
    func cutLog() async throws {
        let herald = try await HeraldProcess.start()
        let data = herald.folder.path + "/data"
        for _ in 0..<20 { try await herald.publish() }
        try await herald.kill()
        try Files.write([], to: data + "/herald.db-wal")
        let refused = try await Binary.run(["serve", "--listen", "127.0.0.1:0", "--data", data])
        #expect(refused.end == .exited(65))
        #expect(refused.text.contains("herald check") && refused.text.contains("herald salvage"))
        #expect(try await Binary.run(["check", data]).end == .exited(65))
        let salvaged = herald.folder.path + "/salvaged"
        let answer = try await Binary.run(["salvage", data, salvaged])
        #expect(answer.end == .exited(65))
        #expect(answer.text.contains("BAD  write-ahead log"))
        let next = try await HeraldProcess.start(data: salvaged)
        try await next.publish()
        #expect(try await next.stop() == .exited(0))
    }
}
