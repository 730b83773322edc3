import HeraldModel

/// The large bodies that recipes have made for open requests, with their headers, and the large headers of CloudEvents in binary
/// mode, bounded by their bytes: unlike the bytes of an event, which all its deliveries share, each request has them for itself.
/// Small ones belong to what a request takes anyway.
///
/// Confined to one sender.
struct RecipeBodies {
    /// More than this is counted.
    static let smallBytes = 8 << 10

    private let maxBytes: Int
    private var bytes = 0
    private var ofApps: [AppKey: Int] = [:]

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    /// Takes room for the bytes of a request. An app gets half of it, so that receivers that don't respond delay others little.
    /// One request always has room.
    /// - Returns: the bytes that were taken, 0 for a small request; `nil` if there is no room.
    mutating func take(_ count: Int, of app: AppKey) -> Int? {
        if count <= Self.smallBytes { return 0 }
        let own = ofApps[app] ?? 0
        guard own == 0 || own + count <= maxBytes / 2, bytes == 0 || bytes + count <= maxBytes else { return nil }
        bytes += count
        ofApps[app] = own + count
        return count
    }

    mutating func give(back count: Int, of app: AppKey) {
        guard count > 0 else { return }
        bytes -= count
        let left = (ofApps[app] ?? 0) - count
        ofApps[app] = left > 0 ? left : nil
    }
}
