import HeraldModel

extension Command {
    static let all: [Command] =
        [
            Command(
                name: "serve", summary: "run the server; `herald serve --help` lists the settings",
                flags: Settings.flags, helpText: { Help.serve }, action: .own(HeraldCommand.serve)),
            login, logout, open, export, apply, importing,
            publish, trigger, drain, listen, work, attempts, delegates, events, deliveries, stats, eventTypes, subjects,
            state, auth, keys, apps, audit, storage, nodes, verify, receiver, bench, openapi,
            backup, restore, check, salvage, migrate, config, doctor,
            Command(
                name: "rewrap", summary: "encrypt the secrets in the database with another master key",
                flags: [Flag("data", "FOLDER", "The folder of the database.")],
                helpText: { Help.rewrap }, action: .run(HeraldCommand.rewrap)),
            health, completion, man,
            Command(
                name: "version", summary: "print the version",
                action: .run { _ throws(CommandError) in try Output.line("herald \(heraldVersion)") }),
        ]
}
