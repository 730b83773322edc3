import HeraldJSON

extension Command {
    static let doctor = Command(
        name: "doctor", summary: "check the settings, the database and the machine of a server, and say what to do",
        details: """
            Takes the settings of `herald serve`: flags, environment, and the file of --config. The server may run. Each line
            begins with ok, warning or failure. The next line says what to do. The database is read as at a start, and not
            changed. The command writes a small file into the data folder to measure a flush of the disk, and removes it.

            With --url it also checks the URL of a delegate: name, addresses, whether callbacks may reach them, connection, TLS,
            and the response to an OPTIONS request. If callbacks use a proxy, it makes no connection.

            Exit codes: 0 all is well; 1 warnings; 2 failures; 64 the command line is wrong.
            """,
        flags: Settings.flagsOfServe + [
            Flag("url", "URL", "The URL of a delegate to check, too."),
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
