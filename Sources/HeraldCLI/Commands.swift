import HeraldCore

extension Command {
    /// All commands.
    static let all: [Command] =
        [
            Command(
                name: "serve", summary: "run the server; `herald serve --help` lists the settings",
                flags: Settings.flags, action: .own(help: { Help.serve }, run: HeraldCommand.serve)),
            login, logout, open, export, apply, importing,
            publish, trigger, drain, listen, work, attempts, delegates, events, deliveries, stats, eventTypes, subjects,
            state,
            auth,
            keys,
            apps, audit, storage, nodes, verify,
            Command(
                name: "receiver", summary: "receive webhooks and print them, for testing; the URL decides the response",
                flags: ReceiverFlag.all.map { Flag($0.name, $0.placeholder, $0.help) },
                action: .own(help: { Help.receiver }, run: HeraldCommand.receiver)),
            bench, openapi,
            backup, restore, check, salvage, migrate, config, doctor,
            Command(
                name: "rewrap", summary: "encrypt the secrets in the database with another master key",
                flags: [Flag("data", "FOLDER", "The folder of the database.")],
                action: .own(help: { Help.rewrap }, run: HeraldCommand.rewrap)),
            health, completion, man,
            Command(
                name: "version", summary: "print the version",
                action: .run { _ throws(CommandError) in try Output.line("herald \(heraldVersion)") }),
        ]
}
