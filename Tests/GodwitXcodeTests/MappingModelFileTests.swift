import Foundation
import GodwitModel
import GodwitXcode
import TestSupport
import Testing

/// The models of these tests: `Person` with a `car`, `Car` with a subentity from version 2 on.
private func models() throws -> (source: ManagedObjectModel, destination: ManagedObjectModel) {
  func relationship(_ name: String, _ to: String, _ inverse: String, isToMany: Bool) -> RelationshipDescription {
    RelationshipDescription(name: name, destinationEntityName: to, inverseName: inverse, isToMany: isToMany)
  }
  let name = AttributeDescription(name: "name", type: .string)
  let age = AttributeDescription(name: "age", type: .integer32)
  var draft = AttributeDescription(name: "draft", type: .string)
  draft.isTransient = true
  let person = EntityDescription(
    name: "Person", attributes: [name, age, draft],
    relationships: [relationship("cars", "Car", "owner", isToMany: true)])
  let car = EntityDescription(
    name: "Car", attributes: [name], relationships: [relationship("owner", "Person", "cars", isToMany: false)])
  return (
    try ManagedObjectModel(name: "1", entities: [person, car]),
    try ManagedObjectModel(
      name: "2", entities: [person, car, EntityDescription(name: "Truck", superentityName: "Car")])
  )
}

private func read(_ fixture: MappingFixture) throws -> XcodeMappingModel {
  try XcodeMappingModel(source: fixture.document(), path: "M.xcmappingmodel", file: "xcmapping.xml")
}

private func mapped(_ fixture: MappingFixture) throws -> MappingModel {
  let (source, destination) = try models()
  return try read(fixture).mappingModel(from: source, to: destination)
}

private func complaint(_ fixture: MappingFixture) -> GodwitError? {
  do {
    _ = try mapped(fixture)
    return nil
  } catch { return error as? GodwitError }
}

private func texts(_ mapping: EntityMapping?) -> [String: String] {
  var texts: [String: String] = [:]
  for attribute in mapping?.attributeMappings ?? [] { texts[attribute.name] = attribute.value.source.text }
  for relationship in mapping?.relationshipMappings ?? [] {
    texts[relationship.name] =
      switch relationship.value {
      case .mapping(let name, let path): "\(name) of \(path.joined(separator: "."))"
      case .sourceRelationship(let name): "source \(name)"
      case .expression(let expression): expression.source.text
      }
  }
  return texts
}

struct `Mapping models of Xcode` {
  @Test func `mappings of an .xcmappingmodel are in order, with the names that Xcode gives`() throws {
    var fixture = MappingFixture()
    fixture.mapping("Person", "Person", number: 10)
    fixture.mapping("Car", "Car", number: 2)
    fixture.mapping(nil, "Truck", number: 3)
    fixture.mapping("Car", nil, number: 4)
    fixture.mapping("Person", "Car", number: 5, more: ["name": "Driver", "migrationpolicyclassname": "App.Policy"])
    let model = try mapped(fixture)
    #expect(model.entityMappings.map(\.name) == ["CarToCar", "Truck", "Car", "Driver", "PersonToPerson"])
    #expect(model.entityMappings.map(\.kind) == [.transform, .add, .remove, .custom, .transform])
    #expect(model["Driver"]?.policyName == "App.Policy")
    #expect(model.sourceModelName == "1" && model.destinationModelName == "2")
    #expect(model.entityMappings[0].location?.file == "xcmapping.xml")
    #expect(model.entityMappings[0].location?.line ?? 0 > 1)
  }

  @Test func `a row without a value takes the source property of the same name, or its default`() throws {
    var fixture = MappingFixture()
    let names = ["name", "age", "draft", "other"].map { ["name": $0] }
    fixture.mapping("Person", "Person", number: 1, attributes: names, relationships: [["name": "cars"]])
    fixture.mapping("Car", "Car", number: 2, attributes: [["name": "name"]], relationships: [["name": "owner"]])
    fixture.mapping(nil, "Truck", number: 3, attributes: [["name": "name"]], relationships: [["name": "owner"]])
    let model = try mapped(fixture)
    // The store does not hold what is transient, and Car has a subentity that another mapping could make.
    #expect(
      texts(model["PersonToPerson"]) == ["name": "$source.name", "age": "$source.age", "cars": "source cars"])
    #expect(texts(model["CarToCar"]) == ["name": "$source.name", "owner": "PersonToPerson of owner"])
    #expect(texts(model["Truck"]) == [:])
  }

  @Test func `an empty mapping row of the editor is skipped`() throws {
    var fixture = MappingFixture()
    fixture.mapping(nil, nil, number: 1, attributes: [["name": "name"]], more: ["name": "Mapping"])
    fixture.mapping("Car", "Car", number: 2)
    #expect(try mapped(fixture).entityMappings.map(\.name) == ["CarToCar"])
  }

  @Test func `two mappings into one entity are found through the source relationship`() throws {
    var fixture = MappingFixture()
    fixture.mapping("Person", "Person", number: 1)
    fixture.mapping("Person", "Person", number: 2, more: ["name": "Twin"])
    fixture.mapping("Car", "Car", number: 3, relationships: [["name": "owner"]])
    #expect(texts(try mapped(fixture)["CarToCar"]) == ["owner": "source owner"])
  }

  @Test func `unlinked mappings and rows are ignored`() throws {
    var fixture = MappingFixture()
    fixture.mapping("Person", "Person", number: 1, attributes: [["name": "name"]])
    fixture.mapping("Car", "Car", number: 1, attributes: [["name": "nonsense"]], isOrphan: true)
    fixture.object("XDDEVATTRIBUTEMAPPING", ["name": "age"])
    let model = try mapped(fixture)
    #expect(model.entityMappings.map(\.name) == ["PersonToPerson"])
    #expect(texts(model["PersonToPerson"]) == ["name": "$source.name"])
  }

  @Test func `an empty policy class means no policy`() throws {
    var fixture = MappingFixture()
    fixture.mapping("Person", "Person", number: 1, more: ["migrationpolicyclassname": ""])
    let model = try mapped(fixture)
    #expect(model.entityMappings.map(\.policyName) == [nil])
    #expect(model.entityMappings.map(\.kind) == [.transform])
  }

  @Test func `a key path and a mapping name make a lookup`() throws {
    var fixture = MappingFixture()
    fixture.mapping(
      "Person", "Person", number: 1,
      relationships: [
        [
          "name": "cars", "sourcekeypath": "$source.cars.@distinctUnionOfSets.owner.cars",
          "sourcemappingname": "CarToCar",
        ]
      ])
    fixture.mapping("Car", "Car", number: 2, relationships: [["name": "owner", "sourcekeypath": "owner"]])
    fixture.mapping(
      "Car", "Car", number: 3, relationships: [["name": "owner", "sourcemappingname": "PersonToPerson"]],
      more: ["name": "Second"])
    let model = try mapped(fixture)
    #expect(texts(model["PersonToPerson"]) == ["cars": "CarToCar of cars.@distinctUnionOfSets.owner.cars"])
    #expect(texts(model["CarToCar"]) == ["owner": "PersonToPerson of owner"])
    #expect(texts(model["Second"]) == ["owner": "PersonToPerson of owner"])
  }

  @Test func `archived expressions become text that reads as the same`() throws {
    let archived: [(String, String)] = [
      (MappingFixture.archived { a in a.keyPath("name", of: a.variable("source")) }, "$source.name"),
      (MappingFixture.archived { a in a.keyPath("size", of: a.variable("source")) }, "$source.#size"),
      (MappingFixture.archived { a in a.constant(.boolean(true)) }, "YES"),
      (MappingFixture.archived { a in a.constant(.integer(-5)) }, "-5"),
      (MappingFixture.archived { a in a.constant(a.string("a \"b\"\n")) }, #""a \"b\"\n""#),
      (
        MappingFixture.archived { a in
          a.function("divide:by:", [a.keyPath("age", of: a.variable("source")), a.constant(.real(1.8))])
        }, "$source.age / (1.8)"
      ),
      (
        MappingFixture.archived { a in
          a.call(a.variable("source"), "valueForKeyPath:", [a.constant(a.string("owner.name"))])
        }, "$source.owner.name"
      ),
      (
        MappingFixture.archived { a in
          a.call(
            a.variable("entityPolicy"), "code:for:",
            [a.keyPath("age", of: a.variable("source")), a.constant(.integer(1))])
        }, #"FUNCTION($entityPolicy, "code:for:", $source.age, 1)"#
      ),
      (
        MappingFixture.archived { a in
          a.call(a.keyPath("name", of: a.variable("source")), "stringByAppendingString:", [a.constant(a.string("!"))])
        }, #"FUNCTION($source.name, "stringByAppendingString:", "!")"#
      ),
      (
        MappingFixture.archived { a in
          let type = a.object("NSConstantValueExpression", ["NSConstantValueClassName": a.string("NSUUID")])
          return a.call(type, "UUID", [])
        }, #"FUNCTION(CAST("NSUUID", "Class"), "UUID")"#
      ),
      (
        MappingFixture.archived { a in
          let type = a.function("castObject:toType:", [a.constant(a.string("NSDate")), a.constant(a.string("Class"))])
          return a.call(type, "dateWithTimeIntervalSince1970:", [a.keyPath("age", of: a.variable("source"))])
        }, #"FUNCTION(CAST("NSDate", "Class"), "dateWithTimeIntervalSince1970:", $source.age)"#
      ),
    ]
    var fixture = MappingFixture()
    fixture.mapping(
      "Person", "Person", number: 1,
      attributes: archived.enumerated().map { ["name": "a\($0)", "valueexpressiondata": $1.0] })
    let found = texts(try mapped(fixture)["PersonToPerson"])
    for (number, (_, text)) in archived.enumerated() {
      #expect(found["a\(number)"] == text)
      #expect(try ValueExpression(parsing: text).description == text)
    }
  }

  @Test func `lookups through $manager get their short form if it means the same`() throws {
    func look(_ selector: String, _ name: String, _ path: String) -> String {
      MappingFixture.archived { a in
        let path = a.keyPath(path, of: a.variable("source"))
        return a.call(a.variable("manager"), selector, [a.constant(a.string(name)), path])
      }
    }
    let byMapping = "destinationInstancesForEntityMappingNamed:sourceInstances:"
    let bySource = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"
    var fixture = MappingFixture()
    fixture.mapping(
      "Person", "Person", number: 1,
      relationships: [
        ["name": "a", "valueexpressiondata": look(byMapping, "CarToCar", "cars")],
        ["name": "b", "valueexpressiondata": look(bySource, "cars", "cars")],
        ["name": "c", "valueexpressiondata": look(bySource, "cars", "friend.cars")],
      ])
    #expect(
      texts(try mapped(fixture)["PersonToPerson"]) == [
        "a": "CarToCar of cars", "b": "source cars",
        "c": "FUNCTION($manager, \"\(bySource)\", \"cars\", $source.friend.cars)",
      ])
  }

  @Test func `Core Data's escapes in an .xcmappingmodel are read`() throws {
    var fixture = MappingFixture()
    fixture.mapping(
      "Person", "Person", number: 1, more: ["sourcefilterpredicatestring": #"age < 10000 AND name MATCHES "\\d&\\\\""#])
    let text = String(decoding: fixture.document(), as: UTF8.self)
    #expect(text.contains(#"age \u3c00 10000 AND name MATCHES "\\\\d\u2600"#))
    let expected = try FilterPredicate(parsing: #"age < 10000 AND name MATCHES "\\d&\\\\""#)
    #expect(try mapped(fixture)["PersonToPerson"]?.filter == expected)
    let damaged = Array(text.replacing(#"\u3c00"#, with: #"\u3dd8"#).utf8)
    let error = #expect(throws: GodwitError.self) {
      try XcodeMappingModel(source: damaged, path: "M.xcmappingmodel", file: "xcmapping.xml")
    }
    #expect(error?.code == .missingInput && error?.location?.line ?? 0 > 1)
    #expect(error?.message.contains(#"found '\u3dd8', which is half of one"#) == true)
  }

  @Test func `a filter predicate is kept, and TRUEPREDICATE means no filter`() throws {
    var fixture = MappingFixture()
    fixture.mapping("Person", "Person", number: 1, more: ["sourcefilterpredicatestring": "age >= 18"])
    let fetch = MappingFixture.archived { a in
      let call = a.call(
        a.variable("manager"), "fetchRequestForSourceEntityNamed:predicateString:",
        [a.constant(a.string("Car")), a.constant(a.string("name == \"x\""))])
      let context = a.keyPath("sourceContext", of: a.variable("manager"))
      return a.object(
        "NSFetchRequestExpression",
        ["NSFRExpression": call, "NSMOCExpression": context, "NSCountOnlyFlag": .boolean(false)])
    }
    fixture.mapping("Car", "Car", number: 2, more: ["sourceexpressiondata": fetch])
    fixture.mapping("Car", "Car", number: 3, more: ["name": "All", "sourcefilterpredicatestring": "TRUEPREDICATE"])
    let model = try mapped(fixture)
    #expect(model["PersonToPerson"]?.filter?.source.text == "age >= 18")
    #expect(model["CarToCar"]?.filter == (try FilterPredicate(parsing: "name == \"x\"")))
    #expect(model["All"]?.filter == nil)
  }

  @Test func `user info is kept, of mappings and of properties`() throws {
    let info = MappingFixture.archived { a in
      a.dictionary([("modelVersion", a.string("2")), ("n", .integer(7)), ("on", .boolean(true))])
    }
    var fixture = MappingFixture()
    fixture.mapping(
      "Person", "Person", number: 1, attributes: [["name": "name", "userinfodata": info]], more: ["userinfodata": info])
    let expected = ["modelVersion": "2", "n": "7", "on": "true"]
    let mapping = try mapped(fixture)["PersonToPerson"]
    #expect(mapping?.userInfo == expected && mapping?.propertyUserInfo == ["name": expected])
  }

  @Test func `unknown parts of an .xcmappingmodel are errors`() throws {
    let subquery = MappingFixture.archived { a in a.object("NSSubqueryExpression", [:]) }
    let list = MappingFixture.archived { a in a.dictionary([("k", a.array([]))]) }
    let cases:
      [(message: String, attributes: [[String: String]], relationships: [[String: String]], more: [String: String])] = [
        ("unknown attribute 'sorting' of XDDEVENTITYMAPPING", [], [], ["sorting": "x"]),
        ("unknown attribute 'x' of XDDEVATTRIBUTEMAPPING", [["name": "name", "x": "1"]], [], [:]),
        ("'name' is mapped twice", [["name": "name"], ["name": "name"]], [], [:]),
        ("NSSubqueryExpression", [["name": "name", "valueexpressiondata": subquery]], [], [:]),
        ("is not text, a number or a truth value", [], [], ["userinfodata": list]),
        ("filter predicate", [], [], ["sourcefilterpredicatestring": "age >="]),
        ("has no relationship 'pets'", [], [["name": "cars", "sourcekeypath": "$source.pets"]], [:]),
        ("key path 'a b'", [], [["name": "cars", "sourcekeypath": "a b"]], [:]),
      ]
    for (message, attributes, relationships, more) in cases {
      var fixture = MappingFixture()
      fixture.mapping(
        "Person", "Person", number: 1, attributes: attributes, relationships: relationships, more: more)
      let error = complaint(fixture)
      #expect(error?.message.contains(message) == true, "\(message): \(error.map { "\($0)" } ?? "no error")")
      #expect(error?.code == .configuration && error?.remedy != nil && error?.location?.file == "xcmapping.xml")
    }
  }

  @Test func `a damaged .xcmappingmodel is 66 with line and column`() {
    var linked = MappingFixture()
    linked.mapping("Person", "Person", number: 1, attributes: [["name": "name", "valueexpressiondata": "!!"]])
    #expect(complaint(linked)?.code == .missingInput)
    #expect(complaint(linked)?.location?.line ?? 0 > 1)
    for text in [
      "", "<a/>", "<database><object/></database>", "<database></database>", "<database><object type='A' id='z1'>",
    ] {
      let error = #expect(throws: GodwitError.self) {
        try XcodeMappingModel(source: Array(text.utf8), path: "M", file: "xcmapping.xml")
      }
      #expect(error?.code == .missingInput && error?.location != nil, "\(text)")
    }
  }

  @Test func `a property row belongs to one mapping`() throws {
    var fixture = MappingFixture()
    fixture.mapping("Person", "Person", number: 1, attributes: [["name": "name"]])
    fixture.mapping("Car", "Car", number: 2, attributes: [["name": "name"]])
    let text = String(decoding: fixture.document(), as: UTF8.self).replacing("idrefs=\"z105\"", with: "idrefs=\"z103\"")
    let error = #expect(throws: GodwitError.self) {
      try XcodeMappingModel(source: Array(text.utf8), path: "M", file: "xcmapping.xml")
    }
    #expect(error?.code == .missingInput && error?.message.contains("two mappings have the row 'z103'") == true)
  }

  @Test func `an .xcmappingmodel made for other models is refused by name`() throws {
    var fixture = MappingFixture()
    fixture.mapping("Person", "Person", number: 1)
    let (source, destination) = try models()
    let file = try read(fixture)
    #expect(file.fit(from: source, to: destination) == .names)
    let error = #expect(throws: GodwitError.self) { try file.mappingModel(from: destination, to: source) }
    #expect(error?.code == .configuration && error?.cause?.contains("it names '1' and '2'") == true)
  }

  @Test func `without models an .xcmappingmodel must be complete`() throws {
    var fixture = MappingFixture()
    fixture.mapping("Person", "Person", number: 1, attributes: [["name": "name"]])
    let error = #expect(throws: GodwitError.self) { try read(fixture).mappingModel() }
    #expect(error?.message.contains("needs the models") == true)
    var complete = MappingFixture()
    let value = MappingFixture.archived { a in a.constant(.integer(1)) }
    complete.mapping("Person", "Person", number: 1, attributes: [["name": "age", "valueexpressiondata": value]])
    #expect(texts(try read(complete).mappingModel()["PersonToPerson"]) == ["age": "1"])
  }
}
