import Glibc
import HeraldJSON

/// A server and its access key, which `herald login` stores for later commands.
struct Profile {
    let name: String
    let server: String
    let key: String?

    static let defaultName = "default"

    /// The profile of a command: the named one; or `default`, if it exists and neither flags nor environment name a server. So the key
    /// of a profile is never sent to another server.
    /// - Throws: if the named profile does not exist, or a server is named beside it.
    static func chosen(_ call: Invocation) throws(CommandError) -> Profile? {
        let environment = Environment.current
        let isServerNamed = APIClient.namedServer(call) != nil
        guard let name = call[Flags.profile.name] ?? (isServerNamed ? nil : environment["HERALD_PROFILE"]) else {
            return isServerNamed ? nil : try ProfileFile.read().first { $0.name == defaultName }
        }
        guard call["server"] == nil else {
            throw CommandError("--profile and --server both name a server: leave one of them out.")
        }
        guard let profile = try ProfileFile.read().first(where: { $0.name == name }) else {
            throw CommandError(
                "There is no profile \"\(name)\" in \(ProfileFile.path): `herald login --profile \(name)` makes it.")
        }
        return profile
    }
}

/// The file of all profiles, `~/.config/herald/config`, which only its user may read.
enum ProfileFile {
    /// As in the XDG Base Directory Specification.
    static var path: String {
        let folder =
            variable("XDG_CONFIG_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? (variable("HOME") ?? "")
            + "/.config"
        return folder + "/herald/config"
    }

    /// The profiles, by name; none without a file.
    static func read() throws(CommandError) -> [Profile] {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return [] }
            throw Input.unreadable(path)
        }
        if let problem = SecretFile.problem(path) {
            throw CommandError("\(path) contains keys, but \(problem)", exitCode: ExitCode.noInput)
        }
        let bytes = try Input.file(path)
        guard let document = try? JSONDocument(parsing: bytes), document.root.kind == .object else {
            throw CommandError(
                "\(path) is not what `herald login` writes: remove it, and log in again.", exitCode: ExitCode.data)
        }
        return document.root.members.compactMap { name, value in
            value["server"]?.string.map { Profile(name: name, server: $0, key: value["key"]?.string) }
        }
    }

    /// Replaces the file as a whole.
    static func write(_ profiles: [Profile]) throws(CommandError) {
        let json = JSONWriter.document { all in
            for profile in profiles {
                all.object(profile.name) {
                    $0.member("server", profile.server)
                    $0.member("key", ifPresent: profile.key)
                }
            }
        }
        let folder = String(path.dropLast("/config".count))
        mkdir(String(folder.dropLast("/herald".count)), 0o700)
        mkdir(folder, 0o700)
        let new = path + ".new-\(getpid())"
        // In a container, an interrupted command may have had this process id.
        unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw unwritable() }
        let isWritten = Output.write(json + [10], to: descriptor) && fsync(descriptor) == 0
        let cause = errno
        close(descriptor)
        guard isWritten, rename(new, path) == 0 else {
            let cause = isWritten ? errno : cause
            unlink(new)
            throw unwritable(cause)
        }
    }

    private static func unwritable(_ cause: Int32 = errno) -> CommandError {
        CommandError("\(path) cannot be written: \(String(cString: strerror(cause))).", exitCode: ExitCode.cannotCreate)
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}
