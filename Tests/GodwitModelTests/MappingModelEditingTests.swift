import Foundation
import GodwitModel
import Testing

/// A mapping model changed in code: one line a change, each value from one text.
struct MappingModelEditingTests {
  private func mapping() throws -> MappingModel {
    var people = EntityMapping(name: "PersonToAdult", source: "Person", destination: "Adult")
    people.attributeMappings = [
      AttributeMapping(name: "name", value: try ValueExpression("$source.name"), usesDefaultForNil: true)
    ]
    return MappingModel(entityMappings: [people])
  }

  @Test func `a filter and a value expression are set in one line each`() throws {
    var mapping = try mapping()
    mapping["PersonToAdult"]?.filter = try FilterPredicate("age >= 18")
    mapping["PersonToAdult"]?[attribute: "name"] = try ValueExpression("$source.fullName")
    let people = try #require(mapping["PersonToAdult"])
    #expect(people.filter == (try FilterPredicate("age >= 18")))
    #expect(people.attributeMappings.count == 1)
    #expect(people.attributeMappings[0].value == (try ValueExpression("$source.fullName")))
    #expect(people.attributeMappings[0].usesDefaultForNil)
  }

  @Test func `setting a property that the mapping lacks adds it, and nil removes it`() throws {
    var mapping = try mapping()
    mapping["PersonToAdult"]?[attribute: "age"] = try ValueExpression("$source.age + 1")
    mapping["PersonToAdult"]?[relationship: "home"] = .mapping("HouseToHome", keyPath: ["house"])
    #expect(mapping["PersonToAdult"]?.attributeMappings.map(\.name) == ["name", "age"])
    #expect(mapping["PersonToAdult"]?[relationship: "home"] == .mapping("HouseToHome", keyPath: ["house"]))
    mapping["PersonToAdult"]?[relationship: "home"] = .sourceRelationship("house")
    #expect(mapping["PersonToAdult"]?.relationshipMappings.map(\.value) == [.sourceRelationship("house")])
    mapping["PersonToAdult"]?[attribute: "name"] = nil
    mapping["PersonToAdult"]?[relationship: "home"] = nil
    #expect(mapping["PersonToAdult"]?.attributeMappings.map(\.name) == ["age"])
    #expect(mapping["PersonToAdult"]?.relationshipMappings.isEmpty == true)
  }

  @Test func `an expression keeps the text that it was read from, and equality ignores it`() throws {
    let expression = try ValueExpression("$source.age+1")
    #expect(expression.source.text == "$source.age+1")
    #expect(expression == (try ValueExpression("$source.age + 1")))
  }

  @Test func `an expression that cannot be read says which part`() {
    let error = #expect(throws: ExpressionError.self) { try ValueExpression("$source.age +") }
    #expect(error?.range.isEmpty == false || error?.range.lowerBound == 13)
  }

  @Test func `dates, data and URLs convert to values and back`() throws {
    let date = Date(timeIntervalSinceReferenceDate: 694_224_000.125)
    #expect(AttributeValue(date) == .date(694_224_000.125))
    #expect(AttributeValue(date).date == date)
    #expect(AttributeValue(Data([1, 2])).data == Data([1, 2]))
    #expect(AttributeValue(try #require(URL(string: "https://example.org/a"))) == .uri("https://example.org/a"))
    #expect(AttributeValue("a").string == "a")
    #expect(AttributeValue("a").date == nil && AttributeValue(date).data == nil && AttributeValue(date).string == nil)
    #expect(PropertyListValue(date) == .date(694_224_000.125) && PropertyListValue(Data([3])) == .data([3]))
    #expect(VersionHash(bytes: [1]) == nil)
  }
}
