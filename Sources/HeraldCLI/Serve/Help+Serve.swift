import HeraldRuntime

extension Help {
    static var serve: String {
        var text = """
            Usage: herald serve [FLAGS]

            Runs the server until TERM or INT. Then it finishes open callbacks and exits 0. A second signal ends it at once.
            Each flag can be set in the environment or in a file instead. A flag wins, then the environment.
            `herald config` prints the settings that are in effect.

            """
        for option in Option.all {
            text += """

                  \(option.isSecret ? option.variable : option.commandFlag.usage)
                      \(option.help)
                      Default: \(option.defaultText). \
                \(option.isSecret ? "In the environment or a file only." : "Environment: \(option.variable).")
                """
        }
        return text
            + """


            Exit codes: 0 stopped by a signal; 1 stopped by a second one; 64 invalid settings; 65 the data cannot be read; 66 the
            certificate cannot be used; 69 cannot listen on the address, or reach the database; 73 the data folder or the
            database cannot be used; 74 the disk failed.
            """
    }

    static let rewrap = """
        Usage: herald rewrap [--data FOLDER]

        Encrypts the secrets in the database with another master key, in one transaction. The server must not run.
        The keys come from the environment, 32 bytes in base64 each:

          HERALD_MASTER_KEY       the present key; not set: the secrets are not encrypted yet
          HERALD_NEW_MASTER_KEY   the new key; "none": store the secrets in plain text

        HERALD_MASTER_KEY_FILE and HERALD_NEW_MASTER_KEY_FILE name files instead, whose only line is the key.

        Then start the server with the new key as HERALD_MASTER_KEY. Backups need the key with which they were made.

        Flags:
          --data FOLDER   The folder of the database. Default: ./herald-data. Environment: HERALD_DATA.
        """

    /// The file of settings of the packages, `herald.conf`: each setting with its meaning, commented out. `herald help environment`
    /// prints it. Keys are left out, because every user may read the file.
    static var environmentFile: String {
        let head = """
            Settings of the server. Remove the # of a line to change its setting, and run `systemctl restart herald`. Each line
            is an environment variable. The service sets HERALD_DATA to /var/lib/herald, unless a line here sets it. Keys do
            not belong into this file: store them in
            /etc/credstore/herald.admin-key and /etc/credstore/herald.master-key, readable by root only. A file with a
            password of a database or of a proxy needs `chmod 600`: systemd reads it as root.
            """
        return comment(head)
            + Option.all.filter { !$0.isSecret && $0.name != Option.config }.map {
                "\n\n" + comment("\($0.help) Default: \($0.defaultText).") + "\n#\($0.variable)=\($0.placeholder)"
            }.joined()
    }

    /// Lines of a comment with at most 100 characters each.
    private static func comment(_ text: String) -> String {
        var lines = ["#"]
        for word in text.split(whereSeparator: { $0 == " " || $0.isNewline }) {
            if lines[lines.count - 1].count + word.count >= 100 { lines.append("#") }
            lines[lines.count - 1] += " " + word
        }
        return lines.joined(separator: "\n")
    }

    /// The table of `Documentation/reference/configuration.md`; `herald help table` prints it.
    static var table: String {
        "| flag | environment | default | meaning |\n|---|---|---|---|\n"
            + Option.all.map {
                "| \($0.isSecret ? "" : "`--\($0.name)`") | `\($0.variable)` | \($0.defaultText) | \($0.help) |"
                    .replaced("true|false", by: "true\\|false")
            }.joined(separator: "\n")
    }
}
