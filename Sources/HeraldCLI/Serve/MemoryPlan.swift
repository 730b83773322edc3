import HeraldDelivery
import HeraldSQLite

/// How the memory is divided among the parts that hold much of it. Each gets its share of what is left after the fixed
/// part, but no more than it has use for: with 2.25 GiB and one delivery thread, all have that.
///
/// `Documentation/reference/limits.md` has the table of the shares.
struct MemoryPlan {
    /// All that the server may take.
    let total: Int
    /// Delivery threads, among which their parts are shared.
    private let loops: Int

    /// The program itself, its threads, and what it holds without any load.
    static let fixed = 28 << 20
    /// With less, parts would be too small to work.
    static let minimum = 48 << 20

    init(total: Int, deliveryLoops: Int) {
        self.total = total
        loops = max(1, deliveryLoops)
    }

    private func share(_ percent: Int, atMost most: Int) -> Int {
        min(most, max(0, total - Self.fixed) / 100 * percent)
    }

    // MARK: The store

    /// Pages of the database: three quarters for the connection that writes, the rest for two readers.
    var databasePages: Int { share(9, atMost: 86 << 20) }
    var caches: SQLiteStore.Caches {
        var caches = SQLiteStore.Caches()
        caches.writer = min(caches.writer, databasePages / 4 * 3)
        caches.reader = min(caches.reader, databasePages / 8)
        return caches
    }
    /// Events that wait for the disk.
    var waitingEvents: Int { share(7, atMost: 64 << 20) }
    /// One list of events. It is in memory four times: as events, as text, and in the buffers of the response.
    var list: Int { share(3, atMost: 64 << 20) / 4 }

    // MARK: Events in memory

    /// Recent events, for all.
    var recentEvents: Int { share(6, atMost: 32 << 20) }
    /// Older and recent events of one delivery loop. Its recent events are mostly those of all.
    var eventsOfLoop: Int { min(54 << 20, share(8, atMost: .max) / loops) }

    // MARK: Requests

    /// Bodies and data that wait to be read or checked.
    var waitingBodies: Int { share(7, atMost: 96 << 20) }
    /// Large bodies that are on their way, in or out.
    var partialBodies: Int { share(3, atMost: .max) }
    /// Publications that wait for first attempts.
    var awaited: Int { share(1, atMost: 12 << 20) }
    var connections: Int { min(10_000, share(18, atMost: .max) / Self.bytesOfConnection) }
    var streams: Int { min(10_000, share(3, atMost: .max) / Self.bytesOfStream) }
    /// Compiled schemas, in units of their size.
    var schemas: Int { share(4, atMost: 50_000_000) / 100 }

    /// As measured with 2,000 idle ones, 25 KiB and 1 KiB, and a little for a small body or a piece that is being sent.
    private static let bytesOfConnection = 26 << 10
    private static let bytesOfStream = 4 << 10

    /// Spans of traces that wait for their export, about 0.4 KiB each.
    var spans: Int { min(16_384, total >> 15) }

    // MARK: What is kept

    /// Delegates, event types, keys, sessions and apps, which are all in memory. Beyond it, requests that add some are refused.
    var keptObjects: Int { share(10, atMost: .max) }
    /// Auth statuses and app states: half of it for each.
    var values: Int { share(2, atMost: 24 << 20) }

    // MARK: Deliveries

    /// Open callbacks of one delivery loop.
    var callbacks: Int { min(4_096, share(14, atMost: .max) / Self.bytesOfCallback / loops) }
    /// As measured with 1,500 open ones, 17 KiB, and the longest header section, with what libcurl adds to each line.
    private static let bytesOfCallback = 44 << 10

    /// The bodies of large events in open callbacks, of one delivery loop.
    var openEvents: Int { share(3, atMost: 64 << 20) / loops }

    /// The large bodies and headers that were made for open callbacks, of a loop: they are part of what is left for callbacks.
    var recipeBodies: Int { max(512 << 10, openEvents / 2) }

    var ofLoop: LoopLimits {
        var limits = LoopLimits()
        limits.openBytes = openEvents
        limits.recentBytes = min(limits.recentBytes, eventsOfLoop / 3)
        limits.recentEvents = min(limits.recentEvents, limits.recentBytes / 2048)
        // 32 pages are kept, and 4 are being read.
        limits.pageBytes = min(limits.pageBytes, eventsOfLoop * 2 / 3 / 36)
        limits.attempts = min(limits.attempts, share(2, atMost: .max) / 256 / loops)
        limits.waitingDeliveries = min(limits.waitingDeliveries, max(500, max(0, total - Self.fixed) >> 16))
        return limits
    }
}

extension MemoryPlan {
    init(_ settings: Settings) throws(CommandError) {
        let total = settings.memory ?? MemoryLimit.found()
        guard total >= Self.minimum else {
            throw CommandError(
                "The system grants \(Option.describe(size: Int64(total))) of memory, but Herald needs at least "
                    + "48MiB. Raise the limit; or try with --memory 48MiB.", exitCode: ExitCode.usage)
        }
        self.init(total: total, deliveryLoops: settings.deliveryLoops)
    }

    /// Whether parts get less than they have use for.
    var isScarce: Bool { total < 1 << 30 }

    var parts: Log.Fields {
        [
            "memory": Option.describe(size: Int64(total)),
            "database_pages": Self.kibibytes(databasePages), "waiting_events": Self.kibibytes(waitingEvents),
            "recent_events": Self.kibibytes(recentEvents), "events_of_loop": Self.kibibytes(eventsOfLoop),
            "list": Self.kibibytes(list), "waiting_bodies": Self.kibibytes(waitingBodies),
            "partial_bodies": Self.kibibytes(partialBodies), "awaited": Self.kibibytes(awaited),
            "connections": String(connections), "streams": String(streams), "callbacks": String(callbacks),
            "open_events": Self.kibibytes(openEvents), "kept_objects": Self.kibibytes(keptObjects),
            "values": Self.kibibytes(values),
        ]
    }

    private static func kibibytes(_ bytes: Int) -> String { "\(bytes >> 10)KiB" }
}
