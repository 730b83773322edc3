import Foundation
import Herald

struct Failure: Error {
    let what: String
}

func expect(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw Failure(what: what()) }
}

/// The names of the threads of this process that belong to hubs.
func hubThreads() throws -> [String] {
    let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
    // One may end while they are listed.
    let names = tasks.compactMap { try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8) }
    return names.filter { name in ["store-", "deliver-", "resolver"].contains { name.hasPrefix($0) } }
}

/// A hub that is released stops: its threads have ended, and its folder is free.
func release(_ folder: String) async throws {
    for round in 1...3 {
        do {
            let hub = try await Hub.open(folder: folder)
            try await hub.webhooks.add("https://partner.example/hook", events: ["nothing.happens"])
            try await hub.publish("round.begun", round)
            // The writer, the readers, and the loop that calls webhooks.
            let running = try hubThreads()
            try expect(running.count >= 4, "the threads have other names: \(running)")
            do throws(HubError) {
                let second = try await Hub.open(folder: folder)
                await second.stop(grace: .zero)
                fatalError("two hubs have the folder open")
            } catch {
                guard case .store(.inUse) = error else { throw Failure(what: "a second hub: \(error)") }
            }
        }
        let left = try hubThreads()
        try expect(left.isEmpty, "a released hub leaves \(left)")
    }
    let hub = try await Hub.open(folder: folder)
    try expect(hub.lastPosition.rawValue == 3, "the log has \(hub.lastPosition) events")
    await hub.stop(grace: .zero)
}

let scratch = FileManager.default.temporaryDirectory.appending(path: "herald-adoption-\(UUID())")
defer { try? FileManager.default.removeItem(at: scratch) }

func folder(_ name: String) throws -> String {
    let folder = scratch.appending(path: name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder.path
}

try checkNames()
try await release(try folder("release") + "/events")
for (number, snippet) in snippets.enumerated() {
    print("-- \(snippet.name)")
    try await snippet.run(try folder("\(number)"))
}
print("\(snippets.count) programs of the documentation ran.")
