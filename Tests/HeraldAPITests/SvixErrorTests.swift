import HeraldHTTP
import HeraldJSON
import Testing

@testable import HeraldAPI

@Suite("Errors in the form of Svix")
struct SvixErrorTests {
    @Test("the detail of a 422 is a list, also without a field, and of others a text")
    func detail() throws {
        let refused = Problem.budgetExceeded.svixResponse(requestID: "req")
        let document = try JSONDocument(parsing: refused.body)
        let list = document["detail"]?.elements.map { $0 } ?? []
        #expect(refused.status == 422 && list.count == 1)
        let entry = try #require(list.first)
        #expect(entry["loc"]?.elements.compactMap(\.string) == ["body"])
        #expect(entry["msg"]?.string == Problem.budgetExceeded.detail && entry["type"]?.string == "value_error")

        let missing = Problem.svixNotFound("endpoint", "x").svixResponse(requestID: "req")
        let text = try JSONDocument(parsing: missing.body)
        #expect(missing.status == 404 && text["detail"]?.string != nil && text["code"]?.string == "not_found")
    }
}
