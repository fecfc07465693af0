import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitXcode

/// The `xcmapping.xml` that is written, read back, and its archives beside those of Xcode.
struct `Writing mapping models of Xcode` {
  private static let paths = (source: "M.xcdatamodeld/M 1.xcdatamodel", destination: "M.xcdatamodeld/M 2.xcdatamodel")

  private func written(_ model: MappingModel) throws -> MappingModel {
    let bytes = try SourceMappingWriter.bytes(of: model, paths: Self.paths, from: nil, to: nil)
    return try XcodeMappingModel(source: bytes, path: "M.xcmappingmodel", file: "xcmapping.xml").mappingModel()
  }

  // MARK: Random mapping models

  private static let names = ["Person", "Pet", "Äpfel", "a<b>&\"c\"", "back\\slash \\u3c00", "of\tthe day"]

  private func expression(_ random: inout SeededGenerator, depth: Int = 0) -> String {
    func part() -> String { expression(&random, depth: depth + 1) }
    let leaves = [
      "$source.name", "$source.owner.name", "$source.pets.@count", "5", "-7", "2.5", "\"text <&> \\\\ 'q' Zoë\"", "nil",
      "$entityMapping.name", "$source", "now()", "TRUE", "$source.@distinctUnionOfObjects.name", "\"$null\"", "\"\"",
    ]
    guard depth < 3, random.chance(60) else { return leaves[random.below(leaves.count)] }
    switch random.below(10) {
    case 0: return "(\(part())) \(["+", "-", "*", "/", "**"][random.below(5)]) (\(part()))"
    case 1: return "uppercase:(\(part()))"
    case 2: return "CAST(\(part()), \"NSString\")"
    case 3: return "FUNCTION($entityPolicy, \"value:of:\", \(part()), \(part()))"
    case 4: return "FUNCTION($source.name, \"stringByAppendingString:\", \(part()))"
    case 5: return "{\(part()), \(part())}"
    case 6: return "$source.list[\(part())]"
    case 7: return "FUNCTION(CAST(\"NSUUID\", \"Class\"), \"UUID\")"
    case 8: return "bitwiseAnd:with:(\(part()), \(part()))"
    default: return "max:({\(part()), \(part())})"
    }
  }

  private func model(_ random: inout SeededGenerator) throws -> MappingModel {
    var mappings: [EntityMapping] = []
    for place in 0..<(1 + random.below(4)) {
      func name() -> String { Self.names[random.below(Self.names.count)] }
      let (hasSource, hasDestination) = [(true, true), (true, true), (false, true), (true, false)][random.below(4)]
      let policy = random.chance(30) ? "App.Policy\(place)" : nil
      let kind: EntityMapping.Kind =
        !hasSource ? .add : !hasDestination ? .remove : policy == nil ? .transform : .custom
      var mapping = EntityMapping(
        name: "\(name()) \(place)", kind: kind, source: hasSource ? name() : nil,
        destination: hasDestination ? name() : nil)
      mapping.policyName = policy
      if hasSource, random.chance(50) {
        mapping.filter = try FilterPredicate(
          ["age >= 18 AND name BEGINSWITH[cd] \"<Ä\\\\\"", "ANY pets.name == nil", "NOT (age IN {1, 2})"][
            random.below(3)])
      }
      if random.chance(40) { mapping.userInfo = ["modelVersion": "3", "<&>": "", "ä": "$null"] }
      for attribute in ["age", "born", "Äge", "zip"] where random.chance(60) {
        mapping.attributeMappings.append(
          AttributeMapping(name: attribute, value: try ValueExpression(expression(&random))))
        if random.chance(20) { mapping.propertyUserInfo[attribute] = ["k": name()] }
      }
      for relationship in ["cars", "home", "pets"] where random.chance(60) {
        let values: [RelationshipMapping.Value] = [
          .mapping(name(), keyPath: []), .mapping(name(), keyPath: ["owner", "@distinctUnionOfSets", "pets"]),
          .sourceRelationship("home"),
          .expression(try ValueExpression("FUNCTION($entityPolicy, \"related:\", \(expression(&random)))")),
        ]
        mapping.relationshipMappings.append(.init(name: relationship, value: values[random.below(values.count)]))
      }
      mappings.append(mapping)
    }
    return MappingModel(sourceModelName: "M 1", destinationModelName: "M 2", entityMappings: mappings)
  }

  @Test(arguments: testSeeds(60)) func `what Core Data can express reads back the same`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var model = try model(&random)
    let read = try written(model)
    for place in model.entityMappings.indices {
      model.entityMappings[place].attributeMappings.sort { Text($0.name) < Text($1.name) }
      model.entityMappings[place].relationshipMappings.sort { Text($0.name) < Text($1.name) }
    }
    #expect(read.placeless == model.placeless, "seed \(seed)")
  }

  @Test(arguments: [
    ("add:to:(1, 2)", "1 + 2"), ("castObject:toType:($source.a, \"NSString\")", "CAST($source.a, \"NSString\")"),
    ("FUNCTION($source, \"valueForKeyPath:\", \"a.b\")", "$source.a.b"), ("-(5)", "-5"),
    ("UPPERCASE($source.a)", "uppercase:($source.a)"),
  ]) func `other spellings read back as the usual one`(text: String, usual: String) throws {
    var mapping = EntityMapping(name: "P", source: "A", destination: "B")
    mapping.attributeMappings = [AttributeMapping(name: "x", value: try ValueExpression(text))]
    let model = MappingModel(sourceModelName: "M 1", destinationModelName: "M 2", entityMappings: [mapping])
    #expect(try written(model).entityMappings[0].attributeMappings[0].value == ValueExpression(usual))
  }

  // MARK: Parts without a form

  @Test func `everything without a form is listed at once`() throws {
    var mapping = EntityMapping(name: "P", kind: .copy, source: "A", destination: "B")
    mapping.forEach = "pets"
    mapping.uniqueBy = ["x"]
    mapping.filter = try FilterPredicate("TERNARY(coalesce:(a, 1) == 1, 1, 2) == 1")
    mapping.propertyUserInfo = ["none": ["a": "b"]]
    let values = [
      "TERNARY(TRUEPREDICATE, 1, 2)", "encode:(\"a\", 1)", "$index", "SUBQUERY($source.a, $x, $x.b == 1)[0]",
      "$source.a[FIRST]", "$source.a UNION $source.b", "-($source.a)", "text:format:($source.a, \"iso8601\")",
    ]
    for (place, text) in values.enumerated() {
      mapping.attributeMappings.append(.init(name: "a\(place)", value: try ValueExpression(text)))
    }
    mapping.attributeMappings.append(.init(name: "p.q", value: try ValueExpression("1")))
    mapping.attributeMappings.append(.init(name: "d", value: try ValueExpression("1"), usesDefaultForNil: true))
    var sorted = RelationshipMapping(name: "r", value: .mapping("P", keyPath: []))
    (sorted.order, sorted.end) = ([.init("a")], .element)
    mapping.relationshipMappings = [sorted]
    let error = #expect(throws: GodwitError.self) { try written(MappingModel(entityMappings: [mapping])) }
    #expect(error?.code == .configuration)
    let lines = Set((error?.cause ?? "").split(separator: "\n").map { $0.replacing("mapping 'P': ", with: "") })
    #expect(
      lines == [
        "for-each", "unique-by", "filter: 'coalesce:', which Core Data lacks",
        "user info of 'none', to which it gives no value", "'a0': TERNARY, whose archive is not known",
        "'a1': 'encode:', which Core Data lacks", "'a2': '$index', which Core Data lacks",
        "'a3': SUBQUERY, whose archive is not known",
        "'a4': [FIRST], [LAST] or [SIZE], whose archive is not known: write an index",
        "'a5': UNION, whose archive is not known", "'a6': the sign of '$source.a': write '0 - …'",
        "'a7': 'text:format:', which Core Data lacks", "'p.q', a part of a composite attribute", "if-nil of 'd'",
        "type copy, which needs the models: give --source and --destination", "order-by of 'r'",
        "'of: $element' of 'r'",
      ], "\(error?.cause ?? "")")
  }

  @Test func `a mapping that would not be read back is named`() throws {
    var mappings = ["P", "Q", "R"].map { EntityMapping(name: $0, source: "A", destination: "B") }
    for _ in 0..<2 { mappings[1].attributeMappings.append(.init(name: "x", value: try ValueExpression("1"))) }
    let error = #expect(throws: GodwitError.self) { try written(MappingModel(entityMappings: mappings)) }
    let cause = error?.cause ?? ""
    #expect(cause.contains("mapping 'Q': ") && !cause.contains("'P'") && !cause.contains("'R'"), "\(cause)")
  }

  @Test func `copy is spelled out with the models`() throws {
    func model(_ name: String, _ attributes: [String]) throws -> ManagedObjectModel {
      let person = EntityDescription(
        name: "Person", attributes: attributes.map { .init(name: $0, type: .string) },
        relationships: [
          .init(name: "pets", destinationEntityName: "Pet", inverseName: "owner", isToMany: true),
          .init(name: "friend", destinationEntityName: "Person"),
        ])
      let pet = EntityDescription(
        name: "Pet",
        relationships: [.init(name: "owner", destinationEntityName: "Person", inverseName: "pets")])
      return try ManagedObjectModel(name: name, entities: [person, pet])
    }
    let (source, destination) = (try model("M 1", ["a", "b", "old"]), try model("M 2", ["a", "b", "new"]))
    var mapping = EntityMapping(name: "P", kind: .copy, source: "Person", destination: "Person")
    mapping.attributeMappings = [.init(name: "b", value: try ValueExpression("$source.old"))]
    let bytes = try SourceMappingWriter.bytes(
      of: MappingModel(entityMappings: [mapping]), paths: Self.paths, from: source, to: destination)
    let read = try XcodeMappingModel(source: bytes, path: "M.xcmappingmodel", file: "x").mappingModel()
    let made = try #require(read["P"])
    #expect(made.kind == .transform && made.attributeMappings.map(\.name) == ["a", "b"])
    #expect(made.attributeMappings.map { "\($0.value)" } == ["$source.a", "$source.old"])
    #expect(made.relationshipMappings.map(\.value) == [.sourceRelationship("friend"), .sourceRelationship("pets")])
  }

  @Test func `equal mapping models give equal files, which Foundation reads as XML`() throws {
    var random = SeededGenerator(seed: 7)
    let model = try model(&random)
    let files = try (0..<2).map { _ in
      try SourceMappingWriter.bytes(of: model, paths: Self.paths, from: nil, to: nil)
    }
    #expect(files[0] == files[1])
    var other = model
    other.entityMappings[0].name += "!"
    let uuid = #/<UUID>(.*)</UUID>/#
    func identifier(_ bytes: [UInt8]) -> Substring? {
      String(decoding: bytes, as: UTF8.self).firstMatch(of: uuid)?.output.1
    }
    let third = try SourceMappingWriter.bytes(of: other, paths: Self.paths, from: nil, to: nil)
    #expect(identifier(third) != identifier(files[0]) && UUID(uuidString: String(identifier(third) ?? "")) != nil)
  }
}

/// Archives that Xcode wrote, written again.
@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct `Archives of the corpus's mapping models` {
  /// The value with each reference followed.
  private static func whole(_ value: PropertyListValue, _ objects: [PropertyListValue]) -> PropertyListValue {
    switch value {
    case .uid(let number) where number < UInt64(objects.count): whole(objects[Int(number)], objects)
    case .array(let members): .array(members.map { whole($0, objects) })
    case .dictionary(let entries): .dictionary(entries.mapValues { whole($0, objects) })
    default: value
    }
  }

  private static func graph(_ bytes: [UInt8]) throws -> PropertyListValue {
    let list = try PropertyListValue(binary: bytes)
    let objects = try #require(list.dictionary?["$objects"]?.array)
    return whole(try #require(list.dictionary?["$top"]), objects)
  }

  @Test func `an archive that is written again has the objects, classes and keys of Xcode's`() throws {
    var count = 0
    for entry in CorpusMappingModel.sources {
      let bytes = [UInt8](try Data(contentsOf: URL(filePath: Corpus.path(entry.path + "/xcmapping.xml"))))
      let document = try MappingDocument(bytes, file: "x")
      for object in document.objects {
        if let archive = try document.bytes("valueexpressiondata", of: object) {
          var reader = try ArchivedExpression(archive, file: "x", location: nil)
          let made = try ExpressionArchive.bytes(of: reader.rootExpression())
          #expect(try Self.graph(made) == Self.graph(archive), "\(entry.path)")
          count += 1
        }
        if let archive = try document.bytes("userinfodata", of: object) {
          var reader = try ArchivedExpression(archive, file: "x", location: nil)
          let info = try reader.reporting { try $0.userInfo($0.archive.root()) }
          #expect(try Self.graph(ExpressionArchive.bytes(ofUserInfo: info)) == Self.graph(archive), "\(entry.path)")
          count += 1
        }
      }
    }
    #expect(count >= 12)
  }

  /// Each attribute and relationship that is written is one of Xcode's, with its type.
  @Test func `the form of the file is Xcode's`() throws {
    func lines(_ text: String) -> Set<String> {
      let tag = #/<(?:attribute|relationship) name="[^"]*" type="[^"]*"(?: destination="[^"]*")?/#
      return Set(text.matches(of: tag).map { String($0.output) })
    }
    var known: Set<String> = []
    for entry in CorpusMappingModel.sources {
      let path = Corpus.path(entry.path + "/xcmapping.xml")
      known.formUnion(lines(try String(contentsOfFile: path, encoding: .utf8)))
    }
    for entry in CorpusMappingModel.sources {
      let model = try XcodeMappingModel(contentsOf: Corpus.path(entry.path)).mappingModel()
      let made = try SourceMappingWriter.bytes(of: model, paths: ("A.xcdatamodel", "B.xcdatamodel"), from: nil, to: nil)
      let found = lines(String(decoding: made, as: UTF8.self))
      #expect(found.isSubset(of: known), "\(found.subtracting(known))")
    }
  }
}
