import Foundation
import GodwitModel
import GodwitXcode
import TestSupport
import Testing

private func failure(_ body: () throws -> Void) -> GodwitError? {
  do {
    try body()
    return nil
  } catch { return error as? GodwitError }
}

/// A model of one entity `E`, with the attribute that `make` gives.
private func model(
  _ make: (inout ArchiveFixture) -> (String, PropertyListValue)
) throws -> AttributeDescription {
  var archive = ArchiveFixture()
  let attribute = make(&archive)
  let entity = archive.entity("E", [attribute])
  let model = try ManagedObjectModel(compiled: archive.model([entity]), name: "M")
  return try #require(model.entity("E")?.attributes.first)
}

/// People and dogs: inheritance, an inverse pair, indexes, uniqueness, a configuration, a fetch request.
private func people() -> [UInt8] {
  var a = ArchiveFixture()
  let (person, employee, dog) = (a.reserve(), a.reserve(), a.reserve())
  let (dogs, owner) = (a.reserve(), a.reserve())
  _ = a.object(
    "NSRelationshipDescription",
    [
      "NSPropertyName": a.string("dogs"), "NSDestinationEntity": dog, "NSInverseRelationship": owner,
      "NSEntity": person,
      "NSMaxCount": .integer(0), "NSMinCount": .integer(0), "NSDeleteRule": .integer(2), "NSIsOrdered": .boolean(true),
      "NSIsOptional": .boolean(true), "NSRenamingIdentifier": a.string("pets"),
    ], at: dogs)
  _ = a.object(
    "NSRelationshipDescription",
    [
      "NSPropertyName": a.string("owner"), "NSDestinationEntity": person, "NSInverseRelationship": dogs,
      "NSEntity": dog,
      "NSMaxCount": .integer(1), "NSMinCount": .integer(1), "NSDeleteRule": .integer(3),
    ], at: owner)
  let name = a.attribute("name", .string, ["NSVersionHashModifier": a.string("2")])
  let element = a.object(
    "NSFetchIndexElementDescription",
    ["NSPropertyName": a.string("name"), "NSAscending": .boolean(true), "NSFetchIndexElementType": .integer(0)])
  let elements = a.array([element])
  let index = a.object("NSFetchIndexDescription", ["NSIndexName": a.string("byName"), "NSIndexElements": elements])
  let unique = a.array([a.array([a.string("name")], "NSMutableArray")])
  let indexes = a.array([index], "NSMutableArray")
  let info = a.dictionary([("note", a.string("n"))])
  let people = a.entity(
    "Person", [name, ("dogs", dogs)],
    [
      "NSIsAbstract": .boolean(true), "NSClassNameForEntity": a.string("APPerson"), "NSUniqueTuples": unique,
      "NSFetchIndexDescriptions": indexes, "NSUserInfo": info, "NSRenamingIdentifier": a.string("Human"),
    ], at: person)
  // The properties of the parent that the store's model repeats: once as a proxy, once as a copy.
  let proxy = a.object(
    "_NSPropertyDescriptionProxy", ["NSUnderlyingProperty": dogs, "NSEntityDescription": employee])
  let copy = a.attribute("name", .string, ["NSVersionHashModifier": a.string("2")])
  let salary = a.attribute("salary", .decimal)
  let employees = a.entity("Employee", [("dogs", proxy), copy, salary], ["NSSuperentity": person], at: employee)
  let dogEntity = a.entity("Dog", [("owner", owner)], ["NSVersionHashModifier": a.string("d")], at: dog)
  let predicate = a.comparison(a.keyPath("name"), 99, a.constant(a.string("x")), options: 1)
  let request = a.object("NSFetchRequest", ["NSEntity": person, "NSPredicate": predicate, "NSFetchLimit": .integer(0)])
  let requests = a.dictionary([("named", request)])
  let members = a.array([dog], "NSSet")
  let configurations = a.dictionary([("Dogs", members)])
  let identifiers = a.array([a.string("7")], "NSSet")
  return a.model(
    [people, employees, dogEntity],
    [
      "NSFetchRequestTemplates": requests, "NSConfigurations": configurations, "NSVersionIdentifiers": identifiers,
      "CDMCompilerXcodeVersion": .integer(1),
    ])
}

struct `Compiled models` {
  @Test func `every part of a compiled model is read`() throws {
    let model = try ManagedObjectModel(compiled: people(), name: "People 2")
    #expect(model.name == "People 2")
    #expect(model.entityNames == ["Dog", "Employee", "Person"])
    #expect(model.versionIdentifiers == ["7"])
    #expect(model.configurations == ["Dogs": ["Dog"]])
    #expect(
      model.fetchRequestTemplates
        == [.init(name: "named", entityName: "Person", predicateText: "name CONTAINS[c] \"x\"")])

    let person = try #require(model.entity("Person"))
    #expect(person.isAbstract && person.managedObjectClassName == "APPerson" && person.renamingIdentifier == "Human")
    #expect(person.uniquenessConstraints == [["name"]] && person.userInfo == ["note": "n"])
    #expect(person.fetchIndexes.map(\.name) == ["byName"])
    #expect(person.attributes.map(\.versionHashModifier) == ["2"])
    let dogs = try #require(person.relationships.first)
    #expect(dogs.isToMany && dogs.isOrdered && dogs.deleteRule == .cascade && dogs.renamingIdentifier == "pets")
    #expect(dogs.inverseName == "owner" && dogs.inverseEntityName == "Dog" && dogs.maxCount == 0)

    let employee = try #require(model.entity("Employee"))
    #expect(employee.superentityName == "Person")
    #expect(employee.attributes.map(\.name) == ["salary"])
    #expect(employee.relationships.isEmpty)
    let owner = try #require(model.entity("Dog")?.relationships.first)
    #expect(!owner.isToMany && !owner.isOptional && owner.minCount == 1 && owner.deleteRule == .deny)
    #expect(model.entity("Dog")?.versionHashModifier == "d")
  }

  @Test func `compiled defaults have the attribute's type`() throws {
    typealias Case = (AttributeType, (inout ArchiveFixture) -> PropertyListValue, AttributeValue)
    let mantissa: [UInt8] = [0x39, 0x30] + Array(repeating: 0, count: 14)
    let cases: [Case] = [
      (.integer16, { $0.add(.integer(-3)) }, .integer(-3)),
      (.boolean, { $0.add(.boolean(true)) }, .boolean(true)),
      (.boolean, { $0.add(.integer(1)) }, .boolean(true)),
      (.integer32, { $0.add(.boolean(true)) }, .integer(1)),
      (.double, { $0.add(.integer(2)) }, .double(2)),
      (.float, { $0.add(.real(0.5)) }, .double(0.5)),
      (.decimal, { $0.add(.integer(7)) }, .decimal(7)),
      (
        .decimal,
        {
          $0.object(
            "NSDecimalNumber",
            [
              "NS.mantissa": .data(mantissa), "NS.exponent": .integer(-2), "NS.length": .integer(1),
              "NS.negative": .boolean(true), "NS.compact": .boolean(true), "NS.mantissa.bo": .integer(1),
            ])
        }, .decimal(try #require(Decimal(string: "-123.45")))
      ),
      (.date, { $0.object("NSDate", ["NS.time": .real(12.5)]) }, .date(12.5)),
      (.string, { $0.object("NSMutableString", ["NS.string": .string("s")]) }, .string("s")),
      (.string, { $0.string("") }, .string("")),
      (.uri, { $0.object("NSURL", ["NS.base": .uid(0), "NS.relative": .uid(0)]) }, .null),
      (.binary, { $0.object("NSMutableData", ["NS.data": .data([1])]) }, .data([1])),
      (
        .uuid, { $0.object("NSUUID", ["NS.uuidbytes": .data(Array(0..<16))]) },
        .uuid(try #require(UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F")))
      ),
      (.string, { _ in ArchiveFixture.null }, .null),
    ]
    for (type, make, expected) in cases where !(type == .uri) {
      let read = try model { archive in
        let value = make(&archive)
        return archive.attribute("a", type, ["NSDefaultValue": value])
      }
      #expect(read.defaultValue == expected, "\(type)")
    }
    let uri = try model { archive in
      let text = archive.string("x:y")
      let value = archive.object("NSURL", ["NS.base": ArchiveFixture.null, "NS.relative": text])
      return archive.attribute("a", .uri, ["NSDefaultValue": value])
    }
    #expect(uri.defaultValue == .uri("x:y"))
  }

  @Test func `a compiled default of the wrong kind is replaced or left out with a remark`() throws {
    func read(_ type: AttributeType, _ make: (inout ArchiveFixture) -> PropertyListValue) throws -> ManagedObjectModel {
      var archive = ArchiveFixture()
      let attribute = archive.attribute("a", type, ["NSDefaultValue": make(&archive)])
      let entity = archive.entity("E", [attribute])
      return try ManagedObjectModel(compiled: archive.model([entity]), name: "M")
    }
    let flag = try read(.boolean) { $0.add(.integer(100)) }
    #expect(flag.attribute("a", of: "E")?.defaultValue == .boolean(true))
    #expect(flag.remarks.map(\.text) == ["the default value at 'E.a' is a number and is read as YES"])
    for (type, make) in [
      (AttributeType.integer16, { (a: inout ArchiveFixture) in a.add(.integer(70_000)) }),
      (.transformable, { $0.object("App.Cover", [:]) }), (.uuid, { $0.string("x") }),
    ] {
      let model = try read(type, make)
      #expect(model.attribute("a", of: "E")?.defaultValue == .null)
      #expect(model.remarks.first?.text.contains("'NSDefaultValue'") == true, "\(type)")
    }
    let zero = try read(.decimal) { $0.object("NSDecimalNumberPlaceholder", [:]) }
    #expect(zero.attribute("a", of: "E")?.defaultValue == .decimal(0))
    #expect(zero.remarks == [])
  }

  @Test func `the flags of compiled attributes are distinguished`() throws {
    for (flags, external, kept) in [(0, false, false), (4, true, false), (16, false, true), (20, true, true)] {
      let read = try model { $0.attribute("a", .binary, ["NSFlagsKey": .integer(Int64(flags))]) }
      #expect(read.allowsExternalBinaryDataStorage == external)
      #expect(read.preservesValueInHistoryOnDeletion == kept)
    }
    let flagged = try model {
      $0.attribute("a", .string, ["NSIsTransient": .boolean(true), "NSIsIndexed": .boolean(true)])
    }
    #expect(flagged.isTransient && flagged.isIndexed)
  }

  @Test func `validation predicates in Xcode's form become limits`() throws {
    let text = try model { a in
      let parts = [
        a.comparison(a.keyPath("length"), 3, a.constant(.integer(2))),
        a.comparison(a.keyPath("length"), 1, a.constant(.integer(9))),
      ]
      let own = a.object("NSSelfExpression", [:])
      let pattern = a.comparison(own, 6, a.constant(a.string("[a-z]+")))
      let list = a.array([a.compound(1, parts), pattern])
      return a.attribute("a", .string, ["NSValidationPredicates": list])
    }
    #expect(text.minimumLength == 2 && text.maximumLength == 9 && text.regularExpression == "[a-z]+")
    let number = try model { a in
      let own = a.object("NSSelfExpression", [:])
      let list = a.array([
        a.comparison(own, 3, a.constant(.integer(-1))), a.comparison(own, 1, a.constant(.integer(4))),
      ])
      return a.attribute("a", .double, ["NSValidationPredicates": list])
    }
    #expect(number.minimumValue == .double(-1) && number.maximumValue == .double(4))
    let date = try model { a in
      let seconds = "timeIntervalSinceReferenceDate"
      let list = a.array([
        a.comparison(a.keyPath(seconds), 3, a.constant(.integer(60))),
        a.comparison(a.keyPath(seconds), 1, a.constant(.real(90.5))),
      ])
      return a.attribute("a", .date, ["NSValidationPredicates": list])
    }
    #expect(date.minimumValue == .date(60) && date.maximumValue == .date(90.5))
  }

  @Test func `a compiled derivation prints as its expression`() throws {
    let cases: [((inout ArchiveFixture) -> PropertyListValue, String)] = [
      ({ $0.function("count:", [$0.keyPath("pages")]) }, "count:(pages)"),
      ({ $0.function("canonical:", [$0.keyPath("name")]) }, "canonical:(name)"),
      ({ $0.function("now", []) }, "now()"),
      ({ $0.keyPath("owner.name") }, "owner.name"),
    ]
    for (make, expected) in cases {
      var archive = ArchiveFixture()
      let expression = make(&archive)
      let property = archive.object(
        "NSDerivedAttributeDescription",
        [
          "NSPropertyName": archive.string("a"), "NSAttributeType": .integer(300), "NSIsReadOnly": .boolean(true),
          "NSDerivationExpression": expression, "NSFilteringPredicate": ArchiveFixture.null,
        ])
      let entity = archive.entity("E", [("a", property)])
      let model = try ManagedObjectModel(compiled: archive.model([entity]), name: "M")
      #expect(model.entity("E")?.attributes.first?.derivationExpression == expected)
    }
  }

  @Test func `a composite attribute has its elements in their order`() throws {
    let read = try model { a in
      let inner = a.object(
        "NSCompositeAttributeDescription",
        [
          "NSPropertyName": a.string("place"), "NSAttributeType": .integer(2100), "NSFlagsKey": .integer(0),
          "NSCompositeElements": a.array([a.attribute("zip", .string).1, a.attribute("city", .string).1]),
        ])
      let value = a.dictionary([("year", .integer(7)), ("other", .integer(1))])
      let (_, year) = a.attribute("year", .integer16)
      return (
        "author",
        a.object(
          "NSCompositeAttributeDescription",
          [
            "NSPropertyName": a.string("author"), "NSAttributeType": .integer(2100), "NSIsOptional": .boolean(true),
            "NSRenamingIdentifier": a.string("writer"), "NSAttributeValueClassName": a.string("NSDictionary"),
            "NSDefaultValue": value, "NSUserInfo": a.dictionary([("EnumType", a.string("E"))]),
            "NSCompositeElements": a.array([year, inner], "NSMutableArray"),
          ])
      )
    }
    #expect(read.type == .composite && read.isOptional && read.renamingIdentifier == "writer")
    #expect(read.userInfo == ["EnumType": "E"])
    #expect(read.leaves.map(\.name) == ["author.year", "author.place.zip", "author.place.city"])
    #expect(read.leaves.map(\.type) == [.integer16, .string, .string])
    #expect(read.leaves.map(\.defaultValue) == [.integer(7), .null, .null])
  }

  @Test func `a default value of a composite that is not a dictionary is left out with a remark`() throws {
    for isList in [true, false] {
      var a = ArchiveFixture()
      let value =
        isList
        ? a.array([.integer(1)])
        : a.object("NSDictionary", ["NS.keys": .array([.integer(1)]), "NS.objects": .array([.integer(1)])])
      let elements = a.array([a.attribute("x", .integer16).1])
      let composite = a.object(
        "NSCompositeAttributeDescription",
        [
          "NSPropertyName": a.string("c"), "NSAttributeType": .integer(2100), "NSCompositeElements": elements,
          "NSDefaultValue": value,
        ])
      let entity = a.entity("E", [("c", composite)])
      let model = try ManagedObjectModel(compiled: a.model([entity]), name: "M")
      #expect(model.remarks.map(\.text).contains { $0.contains("is not a dictionary by names") })
      #expect(model.attributes(of: "E").map(\.defaultValue) == [.null])
    }
  }

  @Test func `a composite attribute that cannot be read is refused`() throws {
    func refusal(_ elements: (inout ArchiveFixture) -> [PropertyListValue]) -> String {
      let error = failure {
        _ = try model { a in
          let list = a.array(elements(&a))
          return (
            "c",
            a.object(
              "NSCompositeAttributeDescription",
              [
                "NSPropertyName": a.string("c"), "NSAttributeType": .integer(2100), "NSCompositeElements": list,
              ])
          )
        }
      }
      return error?.message ?? "-"
    }
    #expect(
      refusal { a in [a.attribute("x", .string).1, a.attribute("x", .date).1] }.contains("'E.c' has two elements 'x'"))
    #expect(refusal { a in [a.attribute("x", .composite).1] }.contains("'NSAttributeType' at 'E.c.x'"))
    // An element that is its own composite.
    #expect(
      refusal { a in
        let place = a.reserve()
        return [
          a.object(
            "NSCompositeAttributeDescription",
            [
              "NSPropertyName": a.string("x"), "NSAttributeType": .integer(2100),
              "NSCompositeElements": a.array([place]),
            ], at: place)
        ]
      }.contains("expected at most 20 composite attributes in each other"))
  }

  @Test func `unknown parts of a compiled model are named with class and key`() throws {
    func refusal(_ make: (inout ArchiveFixture) -> (String, PropertyListValue)) -> String {
      let error = failure { _ = try model(make) }
      #expect(error?.code == .missingInput)
      return error?.message ?? ""
    }
    #expect(
      refusal { $0.attribute("a", .string, ["NSNew": .integer(1)]) }.contains(
        "unknown key 'NSNew' of class 'NSAttributeDescription' at 'E.a'"))
    #expect(refusal { ("a", $0.object("NSNewDescription", [:])) }.contains("unknown class 'NSNewDescription'"))
    #expect(refusal { $0.attribute("a", .string, ["NSFlagsKey": .integer(64)]) }.contains("'NSFlagsKey' at 'E.a'"))
    #expect(
      refusal { $0.attribute("a", .string, ["NSAttributeType": .integer(77)]) }.contains("77 of key 'NSAttributeType'"))
    #expect(refusal { $0.attribute("a", .composite) }.contains("'NSAttributeType' at 'E.a'"))
    #expect(refusal { $0.attribute("a", .string, ["NSIsReadOnly": .boolean(true)]) }.contains("'NSIsReadOnly'"))
    #expect(
      refusal { a in
        let list = a.array([a.object("NSBlockPredicate", [:])])
        return a.attribute("a", .string, ["NSValidationPredicates": list])
      }.contains("unknown class 'NSBlockPredicate' in key 'NSValidationPredicates' at 'E.a'"))
    #expect(
      refusal { a in
        let list = a.array([a.comparison(a.keyPath("b"), 4, a.constant(.integer(1)))])
        return a.attribute("a", .string, ["NSValidationPredicates": list])
      }.contains("key 'NSValidationPredicates'"))
  }

  @Test func `what decides neither hashes nor rows is kept or left out with a remark`() throws {
    var a = ArchiveFixture()
    func element(_ a: inout ArchiveFixture, _ more: [String: PropertyListValue]) -> PropertyListValue {
      let fields: [String: PropertyListValue] = [
        "NSPropertyName": a.string("e"), "NSAscending": .boolean(true), "NSFetchIndexElementType": .integer(0),
      ]
      return a.object("NSFetchIndexElementDescription", fields.merging(more) { _, new in new })
    }
    func index(
      _ a: inout ArchiveFixture, _ name: String, _ elements: [PropertyListValue],
      _ more: [String: PropertyListValue] = [:]
    ) -> PropertyListValue {
      let fields: [String: PropertyListValue] = ["NSIndexName": a.string(name), "NSIndexElements": a.array(elements)]
      return a.object("NSFetchIndexDescription", fields.merging(more) { _, new in new })
    }
    let expression = a.object(
      "NSExpressionDescription", ["NSPropertyName": a.string("e"), "NSExpression": a.object("NSSelfExpression", [:])])
    let strange = a.object("NSExpressionDescription", ["NSExpression": a.object("NSNewExpression", [:])])
    let block = a.object("NSBlockPredicate", [:])
    let indexes = a.array([
      index(&a, "self", [element(&a, ["NSIndexedProperty": expression, "NSNewKey": .integer(1)])]),
      index(&a, "rtree", [element(&a, ["NSPropertyName": a.string("a"), "NSFetchIndexElementType": .integer(1)])]),
      index(&a, "strange", [element(&a, ["NSIndexedProperty": strange])]),
      index(&a, "partial", [element(&a, [:])], ["NSPartialIndexPredicate": block]),
      index(&a, "type", [element(&a, ["NSFetchIndexElementType": .integer(7)])]),
      a.object("NSNewIndexDescription", [:]),
    ])
    let attribute = a.attribute("a", .double, ["NSAllowsCloudEncryption": .boolean(true)])
    let info = a.dictionary([("list", a.array([a.string("x")])), ("text", a.string("t"))])
    let entity = a.entity(
      "E", [attribute], ["NSFetchIndexDescriptions": indexes, "NSUserInfo": info, "NSNewEntityKey": .integer(1)])
    let requests = a.dictionary([
      ("new", a.object("NSNewRequest", [:])),
      ("block", a.object("NSFetchRequest", ["NSEntityName": a.string("E"), "NSPredicate": block])),
    ])
    let bytes = a.model([entity], ["NSNewModelKey": .integer(1), "NSFetchRequestTemplates": requests])
    let found = try ManagedObjectModel(compiled: bytes, name: "M")
    #expect(
      found.entity("E")?.fetchIndexes == [
        .init(
          name: "self",
          elements: [.init(propertyName: nil, expressionText: "SELF", isRTree: false, isAscending: true)]),
        .init(
          name: "rtree",
          elements: [.init(propertyName: "a", expressionText: nil, isRTree: true, isAscending: true)]),
        .init(
          name: "type",
          elements: [.init(propertyName: "e", expressionText: nil, isRTree: false, isAscending: true)]),
      ])
    #expect(found.attribute("a", of: "E")?.allowsCloudEncryption == true)
    #expect(found.entity("E")?.userInfo == ["text": "t"])
    let texts = found.remarks.map(\.text)
    for part in [
      "the unknown key 'NSNewModelKey' of class 'NSManagedObjectModel'", "the unknown key 'NSNewEntityKey'",
      "the unknown key 'NSNewKey' of class 'NSFetchIndexElementDescription', first met at index 'self' of entity 'E'",
      "the value of 'list' in 'NSUserInfo' at entity 'E' is not a string and is left out",
      "unknown class 'NSNewExpression': index 'strange' of entity 'E' is left out",
      "unknown class 'NSBlockPredicate': index 'partial' of entity 'E' is left out",
      "unknown value 7 of key 'NSFetchIndexElementType': index 'type'",
      "the unknown class 'NSNewIndexDescription' at an index of entity 'E'",
      "the unknown class 'NSNewRequest' at fetch request 'new'",
      "unknown class 'NSBlockPredicate' in the predicate of fetch request 'block'",
    ] { #expect(texts.contains { $0.contains(part) }, "\(part) in \(texts)") }
    #expect(texts.count == 10)
    // The same model in Xcode's format is as it was read.
    let contents = found.xcodeContents
    #expect(contents.contains("allowsCloudEncryption=\"YES\"") && contents.contains("expression=\"SELF\""))
  }

  @Test func `a compiled model as an XML archive is read`() throws {
    let binary = try PropertyListSerialization.propertyList(from: Data(people()), format: nil)
    let xml = try PropertyListSerialization.data(fromPropertyList: binary, format: .xml, options: 0)
    #expect(String(decoding: xml, as: UTF8.self).contains("CF$UID"))
    #expect(
      try ManagedObjectModel(compiled: Array(xml), name: "P") == ManagedObjectModel(compiled: people(), name: "P"))
  }
}

struct `Files of compiled models` {
  private func write(_ bytes: [UInt8], _ path: String) throws {
    let folder = URL(filePath: path).deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: path))
  }

  private func information(_ values: [String: PropertyListValue]) -> [UInt8] {
    PropertyListValue.dictionary(values).binaryPropertyList
  }

  @Test func `a compiled bundle has its versions and its current one`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("P.momd")
    for name in ["P", "P 10", "P 2"] { try write(people(), "\(path)/\(name).mom") }
    try write(Array("momv2$".utf8), path + "/P 2.omo")
    let hash = [UInt8](repeating: 7, count: 32)
    try write(
      information([
        "NSManagedObjectModel_CurrentVersionName": .string("P 2"),
        "NSManagedObjectModel_VersionHashes": .dictionary(["P": .dictionary(["E": .data(hash)])]),
        "NSManagedObjectModel_VersionChecksums": .dictionary(["P": .string("c")]),
      ]), path + "/VersionInfo.plist")
    let bundle = try ModelBundle(contentsOf: path + "/")
    #expect(bundle.versions == ["P", "P 2", "P 10"])
    #expect(try bundle.currentModel().name == "P 2")
    #expect(try ManagedObjectModel(contentsOf: path + "#P 10").name == "P 10")
    #expect(try ManagedObjectModel(contentsOf: path + "/P.mom").name == "P")
    let info = try VersionInfo(contentsOf: path)
    #expect(info.currentVersion == "P 2")
    #expect(info.versionHashes == ["P": ["E": try #require(VersionHash(bytes: hash))]])
    #expect(info.versionChecksums == ["P": "c"])
    #expect(try VersionInfo(contentsOf: path + "/VersionInfo.plist") == info)
    let error = failure { _ = try ManagedObjectModel(contentsOf: path + "/P 2.omo") }
    #expect(error?.message.hasSuffix("found its optimised form, an .omo") == true)
  }

  @Test func `without a current version the error names the file that states it`() throws {
    let folder = try TemporaryFolder()
    for name in ["P", "Q"] { try write(people(), folder.file("P.momd/\(name).mom")) }
    let error = failure { _ = try ManagedObjectModel(contentsOf: folder.file("P.momd")) }
    #expect(error?.code == .missingInput)
    #expect(error?.message.hasSuffix("expected its name in VersionInfo.plist, found none") == true)
  }

  @Test func `damaged version information is an error`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("VersionInfo.plist")
    let cases: [[UInt8]] = [
      [], Array("{ A = B; }".utf8), Array("bplist00".utf8), PropertyListValue.array([]).binaryPropertyList,
      information(["NSManagedObjectModel_CurrentVersionName": .integer(1)]),
      information(["NSManagedObjectModel_VersionHashes": .array([])]),
      information(["NSManagedObjectModel_VersionHashes": .dictionary(["P": .dictionary(["E": .data([1])])])]),
      information(["NSManagedObjectModel_VersionChecksums": .dictionary(["P": .integer(1)])]),
    ]
    for bytes in cases {
      try write(bytes, path)
      #expect(failure { _ = try VersionInfo(contentsOf: path) }?.code == .missingInput)
    }
    try write(Array("<plist><dict/></plist>".utf8), path)
    #expect(try VersionInfo(contentsOf: path).versionHashes.isEmpty)
  }

  @Test func `a file that is not a compiled model is refused`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("P.mom")
    for bytes in [[], Array("bplist00".utf8), PropertyListValue.array([]).binaryPropertyList, [1, 2, 3]] {
      try write(bytes, path)
      let error = failure { _ = try ManagedObjectModel(contentsOf: path) }
      #expect(error?.code == .missingInput)
      #expect(error?.context == path)
    }
    #expect(failure { _ = try ManagedObjectModel(contentsOf: folder.file("none.mom")) }?.code == .missingInput)
    #expect(failure { _ = try ManagedObjectModel(contentsOf: folder.file("none.momd")) }?.code == .missingInput)
  }
}
