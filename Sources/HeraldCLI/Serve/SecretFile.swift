import Glibc
import HeraldRuntime

/// A file with a key, which only Herald may read.
enum SecretFile {
    /// The other users that may read the file, and the command that changes that; `nil` if no other user may. Pipes are not files.
    ///
    /// The group may read a file that belongs to root and was given to a server that runs as another user: that is how
    /// orchestrators provide secrets.
    static func problem(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let isOfGroup = status.st_uid == 0 && geteuid() != 0
        let forbidden = isOfGroup ? S_IRWXO | S_IWGRP | S_IXGRP : S_IRWXO | S_IRWXG
        guard status.st_mode & forbidden != 0 else { return nil }
        return "other users may read it: chmod \(isOfGroup ? "640" : "600") \(path)"
    }

    /// The command at the end of a text with such a problem.
    static func command(in text: String) -> String? {
        text.place(of: "chmod ").map { String(text[$0.lowerBound...]) }
    }
}
