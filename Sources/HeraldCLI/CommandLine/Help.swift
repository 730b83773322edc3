/// What `--help` prints, made from the list of options.
enum Help {
    static var serve: String {
        var text = """
            Usage: herald serve [FLAGS]

            Runs the server until TERM or INT, then finishes what is in flight and exits 0. A second signal ends it at once.
            Every flag can be given in the environment instead; a flag wins.

            """
        for option in Option.all {
            text += """

                  \(option.isSecret ? option.variable : "--\(option.name) \(option.placeholder)")
                      \(option.help)
                      Default: \(option.defaultText). \
                \(option.isSecret ? "In the environment only." : "Environment: \(option.variable).")
                """
        }
        return text
            + """


            Exit codes: 0 stopped by a signal; 64 wrong settings; 65 the data can't be read; 69 the address can't be
            listened on; 73 the data folder can't be used; 74 the disk failed.
            """
    }

    static let rewrap = """
        Usage: herald rewrap [--data FOLDER]

        Seals the secrets in the database under another master key, all of them in one transaction. The server must not run.
        The keys come from the environment, 32 bytes in base64 each:

          HERALD_MASTER_KEY       the key of now; not set: the secrets are not sealed yet
          HERALD_NEW_MASTER_KEY   the key to come; set to "none": the secrets are to lie in the database as they are

        Afterwards start the server with the new key as HERALD_MASTER_KEY. Backups keep the key that they were made under.
        """

    /// The table of the README; `herald help table` prints it.
    static var table: String {
        "| flag | environment | default | meaning |\n|---|---|---|---|\n"
            + Option.all.map {
                "| \($0.isSecret ? "" : "`--\($0.name)`") | `\($0.variable)` | \($0.defaultText) | \($0.help) |"
                    .replacing(
                        "true|false", with: "true\\|false")
            }.joined(separator: "\n")
    }
}
