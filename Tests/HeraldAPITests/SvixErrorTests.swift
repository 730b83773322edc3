import HeraldHTTP
import HeraldJSON
import HeraldModel
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

    @Test("an error of the hub names Svix's resources and paths")
    func words() throws {
        let errors: [(error: HubError, words: String)] = [
            (.delegateGone(id: "x_1"), #"PATCH /api/v1/app/{app_id}/endpoint/x_1 with {"disabled": false}."#),
            (.unverified(id: "x_1"), "The endpoint x_1 gets no callbacks before its receiver has agreed."),
            (.urlTaken(id: "x_1"), "The endpoint x_1 gets the same requests"),
            (.eventDamaged(id: "x_1"), "The bytes of the message x_1"),
            (.noEvent("x_1"), "There is no message with the id x_1."),
            (.noDelegate("x_1"), "There is no endpoint with the id x_1."),
        ]
        for (error, words) in errors {
            let response = try JSONDocument(parsing: Problem(error).svixResponse(requestID: "req").body)
            let detail = try #require(response["detail"]?.string)
            #expect(detail.contains(words), "\(detail)")
            #expect(!["delegate", "event", "status_reason", " /v1/"].contains { detail.contains($0) }, "\(detail)")
        }
    }
}
