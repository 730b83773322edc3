struct CommandError: Error, CustomStringConvertible {
    let description: String
    let exitCode: Int32

    init(_ description: String, exitCode: Int32 = ExitCode.usage) {
        self.description = description
        self.exitCode = exitCode
    }
}

/// Exit codes. From 64 on as in `sysexits.h`.
enum ExitCode {
    /// The server refused, or the user did not confirm.
    static let refused: Int32 = 1
    static let usage: Int32 = 64
    /// Invalid input: a database that is corrupt or of a newer version, an event that is not JSON.
    static let data: Int32 = 65
    static let noInput: Int32 = 66
    static let unavailable: Int32 = 69
    static let software: Int32 = 70
    static let cannotCreate: Int32 = 73
    static let inputOutput: Int32 = 74
    static let temporary: Int32 = 75
    /// By Ctrl-C: 128 and the number of the signal, as in shells.
    static let interrupted: Int32 = 130

    /// The codes of commands that use a server, for their help.
    static let ofClients: [(code: Int32, meaning: String)] = [
        (0, "success"),
        (refused, "the server refused the request, or the result is negative: a test failed, a signature is invalid"),
        (usage, "the command line is wrong"),
        (data, "the input is invalid, for example a line that is not JSON"),
        (noInput, "a file cannot be read"),
        (unavailable, "no Herald server was reached"),
        (software, "the server failed"),
        (cannotCreate, "a file cannot be made, such as that of the profiles"),
        (inputOutput, "the output cannot be written"),
        (temporary, "the server is busy or starting: try later"),
    ]
}
