import Glibc
import HeraldModel
import HeraldStore

/// `herald.migration`: what the folder is in a migration to or from another store. Two lines: a word, and the other store.
enum MoveMark {
    static func read(_ folder: StoreFolder) throws(StoreError) -> MoveState? {
        guard PlainFile.exists(folder.move) else { return nil }
        let file = try PlainFile(reading: folder.move)
        let lines = String(decoding: try file.read(file.size, at: 0), as: UTF8.self).split(separator: "\n")
        return MoveState(
            role: lines.first.map(String.init) ?? "", other: lines.dropFirst().first.map(String.init) ?? "?")
    }

    /// Durable on return.
    static func write(_ state: MoveState?, _ folder: StoreFolder) throws(StoreError) {
        if let state {
            let new = folder.move + ".new"
            folder.remove(new)
            let file = try PlainFile(creating: new)
            try file.write(Array("\(state.words.role)\n\(state.words.other)\n".utf8), at: 0)
            try file.sync()
            guard rename(new, folder.move) == 0 else {
                throw .notWritable(path: folder.move, reason: String(cString: strerror(errno)))
            }
        } else {
            folder.remove(folder.move)
        }
        try folder.sync()
    }
}
