import Herald

struct Order: Codable {
    let total: Double
}

func embed(inFolder folder: String, calling url: String) async throws {
    var options = Hub.Options()
    options.allowsLoopback = true  // to try it with a receiver on this machine
    let hub = try await Hub.open(folder: folder, options: options)

    let printing = Task { [events = hub.events(matching: "order.*")] in
        for try await entry in events { print(entry.position, entry.event.type, try entry.event.decode(Order.self)) }
    }
    let webhook = try await hub.webhooks.add(url, events: ["order.*"])
    print("Its receiver needs the secret", webhook.secret?.text ?? "that it has")

    // Returns once it is on disk.
    try await hub.publish("order.placed", Order(total: 12.50), subject: "order:1001")

    await hub.stop(grace: .seconds(5))  // for callbacks that are on their way
    try await printing.value
}
