import Foundation
import GodwitModel
import TestSupport
import Testing
import Yams

@testable import GodwitManifest

/// The model without its places.
func placeless(_ model: MappingModel) -> MappingModel { model.placeless }

@Suite struct `Mapping files` {
  @Test(arguments: ["a: 'b", "'\u{301} #", "x: '\u{301}'\u{308}\u{200B}", "- a\r\nb", "null", ""])
  func `a scalar that is written is read as the same text`(text: String) throws {
    let read = try #require(try compose(yaml: "key: " + YAMLText.scalar(text)))
    #expect(Array((read["key"]?.string ?? "?").utf8) == Array(text.utf8))
  }

  @Test func `every key of a mapping file is read`() throws {
    let model = try mappingModel(Array(Samples.mappings[1].utf8))
    #expect(model.sourceModelName == "Peoplizer 3" && model.destinationModelName == "Peoplizer 4")
    #expect(model.entityMappings.map(\.name) == ["AddressToAddress", "PersonToAdult", "Müller"])
    #expect(model.entityMappings.map(\.kind) == [.copy, .transform, .remove])
    #expect(model.entityMappings[2].uniqueBy == ["a", "b"])
    let person = try #require(model["PersonToAdult"])
    #expect(person.filter?.source == SourceText("age >= 18", location: at(12, 13)))
    #expect(person.policyName == "FlagByPrefix" && person.uniqueBy == ["name"])
    #expect(person.location == at(9, 5))
    let values = Dictionary(uniqueKeysWithValues: person.attributeMappings.map { ($0.name, $0.value.source) })
    #expect(values["age"] == SourceText("18", location: at(17, 12)))
    #expect(values["country"] == SourceText("\"unknown\"", location: at(19, 17)))
    #expect(values["nothing"]?.text == "nil")
    #expect(person.attributeMappings.map(\.name).prefix(3) == ["name", "age", "celsius"])
    let links = Dictionary(uniqueKeysWithValues: person.relationshipMappings.map { ($0.name, $0.value) })
    #expect(links["address"] == .mapping("AddressToAddress", keyPath: ["address", "@distinctUnionOfSets", "country"]))
    #expect(links["embedded"] == .mapping("AddressToAddress", keyPath: []))
    #expect(links["same"] == .mapping("AddressToAddress", keyPath: []))
    #expect(links["owner"] == .sourceRelationship("owner"))
    guard case .expression = links["friend"] else { throw Unexpected() }
    #expect(person.userInfo["colour"] == "it's: red # not" && person.userInfo["number"] == "7")
    #expect(person.userInfo["odd"] == "line\nbreak \u{2028} é \t")
    #expect(person.propertyUserInfo == ["name": ["colour": "red", "n": "1"], "age": [:]])
    #expect(person.attributeMappings.filter(\.usesDefaultForNil).map(\.name) == ["rank"])
    #expect(values["rank"]?.text == "$source.rank" && values["plain"]?.text == "7")
  }

  @Test(arguments: [
    ("a: { if-nil: default }", "expected the key 'value' in 'a'"), ("a: { value: 1, if-nil: 0 }", "for 'if-nil'"),
    ("a: { value: 1, nil: default }", "unknown key 'nil'"), ("a: ???", "'a' is still a placeholder ('???')"),
    ("a: { value: '???' }", "'value' is still a placeholder"),
  ])
  func `an incomplete value of a mapping file is refused at its place`(line: String, message: String) throws {
    let text = "godwit-mapping: 1\nentity-mappings:\n  - name: M\n    attributes:\n      \(line)\n"
    let error = #expect(throws: GodwitError.self) { try mappingModel(Array(text.utf8)) }
    #expect(error?.code == .configuration && error?.location?.line == 5)
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }

  @Test func `remarks are printed as comments, and placeholders are refused until they are replaced`() throws {
    var mapping = EntityMapping(name: "M", source: "A", destination: "B")
    mapping.attributeMappings = [
      AttributeMapping(
        name: "a", value: ValueExpression(try ValueExpression(parsing: "$source.a"), source: SourceText("")))
    ]
    let model = MappingModel(entityMappings: [mapping])
    let remarks = [
      MappingRemark(mapping: nil, "two\nlines"), MappingRemark(mapping: "M", "changed: #1"),
      MappingRemark(mapping: "M", subject: .attribute("a"), "kept"),
      MappingRemark(mapping: "M", subject: .attribute("b"), "stays nil"),
    ]
    let text = model.yaml(remarks: remarks)
    #expect(
      text == """
        # two?lines
        godwit-mapping: 1
        entity-mappings:
          - name: M # changed: #1
            source: A
            destination: B
            attributes:
              a: $source.a # kept
              # b: stays nil

        """)
    #expect(placeless(try mappingModel(Array(text.utf8))).yaml == model.yaml)
    let gap = MappingRemark(mapping: "M", subject: .relationship("r"), "where to?", isPlaceholder: true)
    let draft = model.yaml(remarks: [gap])
    #expect(draft.contains("    relationships:\n      r: '???' # where to?\n"))
    let error = #expect(throws: GodwitError.self) { try mappingModel(Array(draft.utf8)) }
    #expect(error?.message.contains("'r' is still a placeholder") == true)
  }

  @Test func `an expression in a YAML block is located by its first line`() throws {
    let model = try mappingModel(Array(Samples.mappings[1].utf8))
    let text = try #require(model["PersonToAdult"]?.attributeMappings.first { $0.name == "text" })
    #expect(text.value.source.location == at(22, 9))
    #expect(text.location == at(21, 7))
  }

  @Test(arguments: Samples.mappings) func `a printed mapping file reads back as the same mapping model`(text: String)
    throws
  {
    let model = try mappingModel(Array(text.utf8))
    let again = try mappingModel(Array(model.yaml.utf8))
    #expect(placeless(again) == placeless(model))
    #expect(again.yaml == model.yaml)
  }

  @Test(arguments: [
    "plain", "", " lead", "trail ", "it's", "a: b", "a #b", "#", "- x", "null", "~", "true", "1", "line\nbreak",
    "\u{7}",
    "\u{2028}", "é", "a\u{FEFF}b", "{a}", "[a]", "a,b", "*x", "&x", "!x", "%x", "@x", "`x", "? x", "\"q\"", "a\\b",
    "日本",
    "end:", "\u{1F426}", "...", "---", "<<",
  ])
  func `any text survives printing in a mapping file`(text: String) throws {
    var mapping = EntityMapping(name: "M", source: nil, destination: nil)
    mapping.userInfo = ["key": text]
    let printed = MappingModel(entityMappings: [mapping]).yaml
    #expect(try mappingModel(Array(printed.utf8)).entityMappings.first?.userInfo == ["key": text], "\(printed)")
    guard text.contains(where: { !$0.isWhitespace }) else { return }
    mapping.userInfo = [text: "value"]
    mapping.name = text
    mapping.uniqueBy = [text]
    let other = try mappingModel(Array(MappingModel(entityMappings: [mapping]).yaml.utf8))
    #expect(other.entityMappings.first?.userInfo == [text: "value"])
    #expect(other.entityMappings.first?.name == text && other.entityMappings.first?.uniqueBy == [text])
  }

  @Test func `expressions made in code are printed so that they read back`() throws {
    var mapping = EntityMapping(name: "M", source: "A", destination: "B")
    let value = try ValueExpression(parsing: "$source.age + 1")
    mapping.attributeMappings = [AttributeMapping(name: "age", value: ValueExpression(value, source: SourceText("")))]
    let model = try mappingModel(Array(MappingModel(entityMappings: [mapping]).yaml.utf8))
    #expect(model.entityMappings.first?.attributeMappings.first?.value == value)
  }

  private func at(_ line: Int, _ column: Int) -> GodwitError.Location {
    .init(file: "people.mapping.yaml", line: line, column: column)
  }
}
