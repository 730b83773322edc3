import Foundation
import Herald

struct Task: Codable {
    let id: Int
    let text: String
}

func fail(_ text: String) -> Never {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
    exit(1)
}

let usage = "usage: TaskList FOLDER add TEXT | done NUMBER | list | history | tell URL"
var arguments = CommandLine.arguments.dropFirst()
guard let folder = arguments.popFirst(), let command = arguments.popFirst() else { fail(usage) }

/// The tasks that are not done: what the log says, from its first event to its last.
func openTasks(_ hub: Hub) async throws(HubError) -> [Task] {
    var tasks: [Task] = []
    for try await entry in hub.events(after: .start, through: hub.lastPosition, matching: "task.*") {
        guard let task: Task = try? entry.event.decode() else { continue }
        if entry.event.type == "task.added" { tasks.append(task) } else { tasks.removeAll { $0.id == task.id } }
    }
    return tasks
}

do throws(HubError) {
    var options = Hub.Options()
    options.eventRetention = nil  // the log is the database of this program
    options.allowsLoopback = true
    let hub = try await Hub.open(folder: folder, options: options)
    switch (command, arguments.popFirst()) {
    case ("add", let text?):
        let task = Task(id: Int(hub.lastPosition.rawValue) + 1, text: text)
        try await hub.publish("task.added", task, subject: "task:\(task.id)")
        print("\(task.id) \(task.text)")
    case ("done", let word?):
        guard let task = try await openTasks(hub).first(where: { "\($0.id)" == word }) else {
            await hub.stop(grace: .seconds(0))
            fail("There is no open task \(word).")
        }
        try await hub.publish("task.done", task, subject: "task:\(task.id)")
        print("\(task.text): done")
    case ("list", nil):
        for task in try await openTasks(hub) { print("\(task.id) \(task.text)") }
    case ("history", nil):
        for try await entry in hub.events(after: .start, through: hub.lastPosition) {
            print("\(entry.position) \(entry.event.type) \(entry.event.subject ?? "")")
        }
    case ("tell", let url?):
        let webhook = try await hub.webhooks.add(url, events: ["task.*"])
        print("Each change is told to \(webhook.settings.url)")
    default:
        await hub.stop(grace: .seconds(0))
        fail(usage)
    }
    // The program ends now. A webhook that does not answer within two seconds is called at the next start.
    await hub.stop(grace: .seconds(2))
} catch {
    // Another process has the folder, the disk is full, the URL is not one: the error says what to do.
    fail("\(error)")
}
