package import Foundation
package import GodwitModel
import GodwitStore
import GodwitXcode

/// The stores of `jobs/peoplizer`, made from scratch and the same every time.
package enum PeoplizerStores {
  /// The folder of the models, mappings and jobs.
  package static let folder = Checkout.url("jobs/peoplizer")

  package static let versions = 1...4

  /// The value of the metadata key `PeoplizerEdition`, which the app keeps in every store.
  package static let edition = "Ünïcode edition"

  package static func file(_ name: String) -> String { folder.appending(path: name).path }

  /// The store that lies in the repository.
  package static func path(version: Int) -> String { file("stores/people-\(version).sqlite") }

  /// The path and version name of a model.
  package static func model(version: Int) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      contentsOf: file("Peoplizer.xcdatamodeld"), version: version == 1 ? "Peoplizer" : "Peoplizer \(version)")
  }

  /// Makes the store of a version at a path where nothing lies yet.
  package static func make(version: Int, at path: String) throws {
    let model = try model(version: version)
    let digits = String(version)
    let uuid = UUID(uuidString: "0B0E1E5A-0000-4000-8000-00000000000" + digits) ?? UUID()
    var metadata = StoreMetadata(model: model, uuid: uuid)
    metadata.values["PeoplizerEdition"] = .string(edition)
    let store = try StoreBuilder(path: path, model: model, metadata: metadata)
    if version >= 3 { try insertAddresses(store) }
    for index in 0..<(100 + 20 * version) { try insertPerson(index, version: version, store) }
    try store.finish()
  }

  /// Names that differ only in case, composition or the byte after a prefix, an empty one, and none.
  private static let names: [String?] = [
    "Anna", "Bob", "Åsa", "A\u{30A}sa", "李雷", "أحمد", nil, "José", "Jose\u{301}", "anna", "", "O'Brien", "Ünal",
    "Zoë 👩‍👧", "Аня", "Björn \"B\"", "B", "A",
  ]
  private static let streets: [String?] = [
    "1 Infinite Loop", "Hauptstraße 5", "Hauptstrasse 5", nil, "Rue de l'Église", "5 Elm St", "5 elm St", "",
  ]
  private static let states: [String?] = ["California", "Hessen", nil, "Île-de-France", "Ohio"]
  private static let companies: [String?] = ["Apple", "Orange", nil, "apple", "Pear & Söhne", "Orange", "", "Apple"]
  private static let schools: [String?] = ["Lincoln", nil, "École Élémentaire", "Lincoln", "第一小学"]
  /// Integer 16 limits, both sides of 18, and none.
  private static let ages: [Int64?] = [18, 17, 41, 0, nil, 19, 64, 7, 101, -1, 32767, 16, 30]

  /// Keys leave out every third number and one whole range.
  private static func key(_ index: Int) -> Int64 { Int64(index + index / 2 + 1 + (index > 70 ? 1000 : 0)) }

  private static func addressKey(_ index: Int) -> Int64 { Int64(3 * index + 2) }

  private static let addressCount = 23

  private static func insertAddresses(_ store: StoreBuilder) throws {
    for index in 0..<addressCount {
      try store.insert(
        "Address", key: addressKey(index),
        attributes: [
          "street": value(streets[index % streets.count]), "state": value(states[index % states.count]),
        ])
    }
  }

  private static func insertPerson(_ index: Int, version: Int, _ store: StoreBuilder) throws {
    var name = names[index % names.count]
    if index >= names.count, let plain = name { name = plain + " \(index / names.count)" }
    let age = ages[index % ages.count]
    let isChild = age.map { $0 < 18 } ?? false
    var attributes = ["name": value(name), "age": age.map { AttributeValue.integer($0) } ?? .null]
    var relationships: [String: [Int64]] = [:]
    if version == 2 {
      attributes["street"] = value(streets[index % 7])
      attributes["state"] = value(states[index / 2 % states.count])
    }
    if version >= 3 {
      // Some addresses have nobody, and some people none.
      if index % 11 != 3 { relationships["address"] = [addressKey(index * 7 % (addressCount - 2))] }
      if isChild {
        attributes["schoolName"] = value(schools[index / 3 % schools.count])
      } else {
        attributes["companyName"] = value(companies[index / 2 % companies.count])
      }
    }
    try store.insert(
      version < 4 ? "Person" : isChild ? "Child" : "Adult", key: key(index), attributes: attributes,
      relationships: relationships)
  }

  private static func value(_ text: String?) -> AttributeValue { text.map { AttributeValue($0) } ?? .null }
}
