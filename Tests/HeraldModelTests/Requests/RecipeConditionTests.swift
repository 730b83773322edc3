import HeraldJSON
import Testing

@testable import HeraldModel

@Suite("Conditions in recipes")
struct RecipeConditionTests {
    private func merge(_ json: String, into recipe: inout Recipe?) throws -> [FieldError] {
        var errors: [FieldError] = []
        RecipeInput.merge(try JSONDocument(parsing: json).root, into: &recipe, &errors)
        return errors
    }

    @Test(
        "what is valid, but hardly meant, is refused as in the filter of a delegate",
        arguments: [
            (
                #"{"success": {"status": {"numeric": ["<", 300]}}}"#, "/request/success/status",
                #"[{"numeric":["<",300]}]"#
            ),
            (
                #"{"body": {"$if": {"data": {"a": {"numeric": [">", 0]}}}, "then": 1}}"#, "/request/body/$if/data/a",
                #"[{"numeric":[">",0]}]"#
            ),
            (
                #"{"body": {"x": [{"$if": {"type": ["order.*"]}, "then": 1}]}}"#, "/request/body/x/0/$if/type/0",
                #"{"wildcard": "order.*"}"#
            ),
        ])
    func mistakes(json: String, pointer: String, meant: String) throws {
        var recipe: Recipe?
        let errors = try merge(json, into: &recipe)
        #expect(errors.map(\.pointer) == [pointer])
        #expect(errors.first?.detail.hasSuffix(meant) == true, "\(errors)")
        #expect(recipe == nil)
    }

    @Test("a stored recipe with such conditions works, and its other members can be changed")
    func stored() throws {
        let success = #""success":{"status":{"numeric":["<",300]}}"#
        let body = #""body":{"$if":{"type":["order.*"]},"then":1}"#
        var recipe: Recipe? = Recipe(stored: Array("{\(body),\(success)}".utf8))
        #expect(recipe.flatMap { RecipePlan($0) } != nil)
        #expect(try merge(#"{"method": "PUT"}"#, into: &recipe).isEmpty)
        #expect(recipe.flatMap { RecipePlan($0) }?.method == .put)
        // As the dashboard does, which sends all members.
        #expect(try merge("{\(success),\(body)}", into: &recipe).isEmpty)
        let other = #""success":{"status":{"numeric":["<",400]}}"#
        #expect(try merge("{\(other)}", into: &recipe).map(\.pointer) == ["/request/success/status"])
    }
}
