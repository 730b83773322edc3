/// How many requests may be open at once before the delegate's own limit is reached. Pure.
///
/// An unknown receiver gets one. Each success doubles that, up to the delegate's `max_in_flight`; a receiver that hangs or
/// fails many times in a row is back at one, so that it holds few slots.
struct Concurrency: Equatable {
    private(set) var limit = 1

    mutating func succeeded(max: Int) { limit = min(limit * 2, max) }
    mutating func collapse() { limit = 1 }
}
