import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport

/// The files of the call sites: a model of two versions in a folder, and a store of the first.
enum CallSiteFiles {
  static func model(_ version: Int) throws -> ManagedObjectModel {
    func entity(_ name: String, _ attributes: [String: AttributeType]) -> EntityDescription {
      EntityDescription(
        name: name,
        attributes: attributes.sorted { $0.key < $1.key }.map { AttributeDescription(name: $0.key, type: $0.value) })
    }
    return try ManagedObjectModel(
      name: "Peoplizer \(version)",
      entities: version == 3
        ? [entity("Person", ["fullName": .string, "age": .integer16])]
        : [
          entity("Adult", ["name": .string, "age": .integer16]),
          entity("Contact", ["givenName": .string, "familyName": .string]),
        ])
  }

  static func mapping() throws -> MappingModel {
    var adult = EntityMapping(name: "PersonToAdult", source: "Person", destination: "Adult")
    adult.attributeMappings = [
      AttributeMapping(
        name: "age",
        value: ValueExpression(try ValueExpression(parsing: "$source.age"), source: SourceText("$source.age")))
    ]
    var contact = EntityMapping(name: "PersonToContact", source: "Person", destination: "Contact")
    contact.policyName = "PersonToContact"
    return MappingModel(entityMappings: [adult, contact])
  }

  static func write(in folder: TemporaryFolder) throws {
    for version in [3, 4] {
      let model = try model(version)
      let path = folder.file("Peoplizer.xcdatamodeld/\(model.name).xcdatamodel")
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try Data(model.xcodeContents.utf8).write(to: URL(filePath: path + "/contents"))
    }
    let store = try StoreBuilder(path: folder.file("people.sqlite"), model: model(3))
    for (index, (name, age)) in [("Ada Lovelace", 10), ("Bo", 18), (nil, 40)].enumerated() {
      try store.insert(
        "Person", key: Int64(index + 1),
        attributes: ["fullName": name.map { .init($0) } ?? .null, "age": .integer(Int64(age))])
    }
    try store.finish()
  }
}
