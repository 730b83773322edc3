import HeraldJSON

extension Command {
    static let doctor = Command(
        name: "doctor", summary: "check the settings, the database and the machine of a server, and say what to do",
        details: """
            Takes the flags of `herald serve`, the environment and the file of --config as it does. The server may run. Each line
            says ok, warning or failure, and the next line what to do. The database is read as at a start, with the master key,
            and not changed. A small file in the data folder measures how long the disk takes to flush, and is removed at once.
            After a crash, SQLite makes the index of its log again, herald.db-shm.

            With --url it also checks the URL of a delegate: its name and addresses, whether callbacks may reach them, the
            connection, TLS, and the response to a request with the method OPTIONS, which publishes nothing. Where callbacks go
            through a proxy, it says so, and makes no connection.

            Exit codes: 0 all is well; 1 warnings; 2 failures; 64 the command line is wrong.
            """,
        flags: Settings.flagsOfServe + [
            Flag("url", "URL", "The URL of a delegate, to be checked as well."),
            Flag("json", nil, "Print one JSON document."),
        ],
        examples: [
            "herald doctor", "herald doctor --config /etc/herald/herald.conf --json",
            "herald doctor --url https://shop.example/hooks",
        ],
        action: .run { call throws(CommandError) in
            var doctor = Doctor(try Settings(call, collectsMistakes: true))
            doctor.run(url: call["url"])
            let report = doctor.report
            if call.has("json") {
                try Output.line(json: report.json)
            } else {
                for finding in report.findings {
                    for line in finding.lines { try Output.line(line.printable()) }
                }
            }
            if report.exitCode == 0 { return }
            let counts = [Finding.State.failure, .warning].map { (report.count($0), $0.rawValue) }
            let text = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }
            throw CommandError(call.has("json") ? "" : text.joined(separator: ", "), exitCode: report.exitCode)
        })
}

extension Report {
    fileprivate var json: [UInt8] {
        JSONWriter.document {
            $0.member("failures", count(.failure))
            $0.member("warnings", count(.warning))
            $0.array("checks") { list in
                for finding in findings {
                    list.object {
                        $0.member("check", finding.check)
                        $0.member("state", finding.state.rawValue)
                        $0.member("text", finding.text)
                        $0.member("advice", finding.advice)
                    }
                }
            }
        }
    }
}
