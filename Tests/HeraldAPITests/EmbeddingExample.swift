import Herald

struct Order: Codable {
    let total: Double
}

func embed(inFolder folder: String, calling url: String) async throws {
    var options = Hub.Options()
    options.allowsLoopback = true  // to try it with a receiver on this machine
    let hub = try Hub.open(folder: folder, options: options)

    let orders = EventSelection(events: [.prefix("order.")])
    let printing = Task { [events = hub.events(matching: orders)] in
        for try await entry in events { print(entry.position, entry.event.type, try entry.event.decode(Order.self)) }
    }
    let webhook = WebhookSettings(url: url, events: [.prefix("order.")])
    try await hub.register(webhook, secret: SigningSecret(text: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))

    // Returns once it is on disk.
    try await hub.publish("order.placed", subject: "order:1001", data: Order(total: 12.50))

    await hub.stop(grace: .seconds(5))  // for callbacks that are on their way
    try await printing.value
}
