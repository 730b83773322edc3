import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// A content filter that takes many steps for an event, and decides that it does not match.
struct ExpensiveFilter {
    let filter: ContentFilter
    /// The data of an event that does not match.
    let data: String
    /// The data of an event that matches.
    let matching = #"{"t": ["aaz0"]}"#
    /// The steps for an event that does not match.
    let steps: Int

    init() throws {
        let conditions = (0..<200).map { #"{"wildcard": "*a*a*z\#($0)"}"# }.joined(separator: ",")
        let filter = try #require(ContentFilter(text: Array(#"{"data": {"t": [\#(conditions)]}}"#.utf8)))
        let texts = [String](repeating: "\"\(String(repeating: "a", count: 60))\"", count: 8).joined(separator: ",")
        let data = #"{"t": [\#(texts)]}"#
        let view = EventView(Event("a.x", data: data))
        try #require(!filter.matches(view))
        self.filter = filter
        self.data = data
        steps = view.steps
    }
}
