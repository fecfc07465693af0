import Foundation
import GodwitLint
import GodwitModel
import Testing

/// A project with one fault, and where it must be found.
struct SeededFault: CustomTestStringConvertible, Sendable {
  let rule: LintRule
  let file: String
  /// The content of the line; nil for a place without a line.
  let marker: String?
  /// Codes of other warnings and errors that the same fault makes.
  let also: Set<LintRule>
  let key: String?
  let build: @Sendable (inout LintProject) throws -> Void

  init(
    _ rule: LintRule, in file: String, at marker: String?, key: String? = nil, also: Set<LintRule> = [],
    _ build: @escaping @Sendable (inout LintProject) throws -> Void
  ) {
    self.rule = rule
    self.file = file
    self.marker = marker
    self.key = key
    self.also = also
    self.build = build
  }

  var testDescription: String { "\(rule.code) \(file)" }

  fileprivate typealias P = LintProject

  /// Two versions, the second current.
  fileprivate static func versions(_ first: String, _ second: String) -> @Sendable (inout LintProject) throws -> Void {
    { project in
      try project.version("App", first)
      try project.version("App 2", second)
      try project.current("App 2")
    }
  }

  fileprivate static let second = LintProject.contents("App 2")
  fileprivate static let name = LintProject.attribute("name")

  static let all: [SeededFault] = versionFaults + stepFaults + mappingFaults + layoutFaults + cloudKitFaults

  // MARK: Versions

  private static let versionFaults: [SeededFault] = [
    SeededFault(.shippedVersionEdited, in: P.contents("App"), at: "\"age\"", key: "GW101:App:Person") { project in
      try versions(P.person(name, P.attribute("age", "Integer 32")), P.person(name))(&project)
      try project.lock()
      try project.version("App", P.person(name, P.attribute("age", "Integer 64")))
    },
    SeededFault(.shippedVersionGone, in: P.lockName, at: "\"App 0\"", key: "GW102:App 0") { project in
      try versions(P.person(name), P.person(name, P.attribute("note")))(&project)
      try project.lock()
      try project.editLock { lock in
        let bundle = try requireValue(lock.bundles["App.xcdatamodeld"])
        lock.bundles["App.xcdatamodeld"]?.versions["App 0"] = bundle.versions["App"]
      }
    },
    SeededFault(.versionNotLocked, in: second, at: "<model", key: "GW103:App 2") { project in
      try versions(P.person(name), P.person(name, P.attribute("note")))(&project)
      try project.lock()
      try project.editLock { $0.bundles["App.xcdatamodeld"]?.versions["App 2"] = nil }
    },
    SeededFault(.versionUnreadable, in: P.contents("App"), at: "Integr 32", key: "GW104:App") { project in
      try versions(P.person(P.attribute("age", "Integr 32")), P.person(name))(&project)
    },
    SeededFault(.currentVersionUnknown, in: "App.xcdatamodeld", at: nil, key: "GW105") { project in
      try project.version("App", P.person(name))
      try project.version("App 2", P.person(name, P.attribute("note")))
    },
    SeededFault(.currentVersionUnknown, in: "App.xcdatamodeld/.xccurrentversion", at: nil, key: "GW105:App 3") {
      project in
      try versions(P.person(name), P.person(name, P.attribute("note")))(&project)
      try project.current("App 3")
    },
    SeededFault(.versionOrderUnclear, in: P.contents("Gamma"), at: "<model", key: "GW106") { project in
      try project.version("Alpha", P.person(name))
      try project.version("Beta", P.person(name, P.attribute("note")))
      try project.version("Gamma", P.person(name, P.attribute("note"), P.attribute("more")))
      try project.current("Gamma")
    },
    SeededFault(.versionOrderUnclear, in: P.contents("App"), at: "<model", key: "GW106:App 2") { project in
      try versions(P.person(name), P.person(name, P.attribute("note")))(&project)
      try project.current("App")
    },
    SeededFault(.noPath, in: P.contents("App"), at: "<model", key: "GW107:App", also: [.needsMappingModel]) {
      try versions(P.person(P.attribute("age")), P.person(P.attribute("age", "Integer 32")))(&$0)
    },
    SeededFault(.severalSteps, in: P.contents("App 3"), at: "<model", key: "GW108:App") { project in
      try project.version("App", P.person(name))
      try project.version("App 2", P.person(name, P.attribute("note")))
      try project.version("App 3", P.person(name, P.attribute("note"), P.attribute("more")))
      try project.current("App 3")
      try project.mapping("One", from: "App", to: "App 2", "name: $source.name")
      try project.mapping("Two", from: "App 2", to: "App 3", "name: $source.name", "note: $source.note")
    },
    SeededFault(.acceptedNotFound, in: P.lockName, at: "GW201:Person.nmae", key: "GW109:GW201:Person.nmae:App→App 2") {
      project in
      try versions(P.person(name), P.person(name, P.attribute("note")))(&project)
      try project.lock()
      try project.editLock { $0.bundles["App.xcdatamodeld"]?.accepted = ["GW201:Person.nmae:App→App 2"] }
    },
    SeededFault(.wordIgnored, in: second, at: "renamingIdentifier", key: "GW110:App 2:age.renamingIdentifier") {
      let renamed = P.attribute("age", "String", "optional=\"YES\" renamingIdentifier=\"note\"")
      try versions(P.person(name), P.person(name, renamed))(&$0)
    },
    SeededFault(.equalHashes, in: second, at: "<model", key: "GW111:App 2:\(step)") {
      try versions(
        P.person(name), P.person(name).replacing("name=\"Person\"", with: "name=\"Person\" representedClassName=\"P\""))(
          &$0)
    },
  ]

  // MARK: Steps

  private static let step = "App→App 2"
  private static let house = "<entity name=\"House\">\n" + P.attribute("street") + "\n</entity>"

  private static let stepFaults: [SeededFault] = [
    SeededFault(.attributeDropped, in: second, at: "<entity name=\"Person\"", key: "GW201:Person.zodiac:\(step)") {
      try versions(P.person(name, P.attribute("zodiac")), P.person(name))(&$0)
    },
    SeededFault(.attributeDropped, in: "One.mapping.yaml", at: "godwit-mapping", key: "GW201:Person.note:\(step)") {
      project in
      try versions(P.person(name, P.attribute("note")), P.person(name, P.attribute("note"), P.attribute("more")))(
        &project)
      try project.mapping("One", from: "App", to: "App 2", "name: $source.name")
    },
    SeededFault(.relationshipDropped, in: second, at: "<entity name=\"House\"", key: "GW202:House.owner:\(step)") {
      let houses = P.relationship("houses", to: "House", inverse: "owner", "optional=\"YES\" toMany=\"YES\"")
      let owner = P.relationship("owner", to: "Person", inverse: "houses", "optional=\"YES\" maxCount=\"1\"")
      try versions(
        P.person(houses, more: house.replacing("</entity>", with: owner + "\n</entity>")), P.person(more: house))(
          &$0)
    },
    SeededFault(.entityDropped, in: second, at: "<model", key: "GW203:House:\(step)") {
      try versions(P.person(name, more: house), P.person(name))(&$0)
    },
    SeededFault(.probableRename, in: second, at: "\"fullName\"", key: "GW204:Person.fullName:\(step)") {
      try versions(P.person(name), P.person(P.attribute("fullName")))(&$0)
    },
    SeededFault(.probableRename, in: second, at: "<entity name=\"Home\"", key: "GW204:House:\(step)") {
      try versions(P.person(name, more: house), P.person(name, more: house.replacing("House", with: "Home")))(&$0)
    },
    SeededFault(
      .probableRename, in: second, at: "\"bestFriend\"", key: "GW204:Person.bestFriend:\(step)"
    ) { project in
      func friend(_ name: String) -> String {
        "<relationship name=\"\(name)\" destinationEntity=\"House\" deletionRule=\"Nullify\" optional=\"YES\" maxCount=\"1\"/>"
      }
      try versions(P.person(friend("friend"), more: house), P.person(friend("bestFriend"), more: house))(&project)
    },
    SeededFault(
      .optionalToRequired, in: second, at: "\"name\"", key: "GW205:Person.name:\(step)", also: [.noPath]
    ) {
      try versions(P.person(name), P.person(P.attribute("name", "String", "")))(&$0)
    },
    SeededFault(
      .requiredAttributeAdded, in: second, at: "\"age\"", key: "GW206:Person.age:\(step)", also: [.noPath]
    ) {
      try versions(P.person(name), P.person(name, P.attribute("age", "Integer 32", "")))(&$0)
    },
    SeededFault(
      .requiredToOneAdded, in: second, at: "\"home\"", key: "GW207:Person.home:\(step)", also: [.noPath]
    ) {
      let home =
        "<relationship name=\"home\" destinationEntity=\"House\" deletionRule=\"Nullify\" maxCount=\"1\"/>"
      try versions(P.person(name, more: house), P.person(name, home, more: house))(&$0)
    },
    SeededFault(
      .uniquenessAdded, in: second, at: "<uniquenessConstraints", key: "GW208:Person(name):\(step)"
    ) {
      let unique =
        "<uniquenessConstraints>\n<uniquenessConstraint><constraint value=\"name\"/></uniquenessConstraint>\n</uniquenessConstraints>"
      try versions(P.person(name), P.person(name, unique))(&$0)
    },
    SeededFault(
      .needsMappingModel, in: second, at: "\"age\"", key: "GW209:Person.age:\(step)", also: [.noPath]
    ) {
      try versions(P.person(P.attribute("age")), P.person(P.attribute("age", "Integer 32")))(&$0)
    },
    SeededFault(.needsPolicy, in: "One.mapping.yaml", at: "- name: PersonToPerson", key: "GW210:Split:\(step)") {
      project in
      try versions(P.person(name), P.person(name, P.attribute("note")))(&project)
      try project.mapping("One", from: "App", to: "App 2", "name: $source.name", policy: "Split")
    },
    SeededFault(.rowsReadInPlace, in: second, at: "\"note\"", key: "GW211:\(step)") {
      try versions(
        P.person(name), P.person(name, P.attribute("note", "String", "optional=\"YES\" defaultValueString=\"none\"")))(
          &$0)
    },
    SeededFault(.rowsMayBreakRule, in: second, at: "\"age\"", key: "GW212:Person.age:\(step)") {
      try versions(P.person(P.attribute("age", "Integer 64")), P.person(P.attribute("age", "Integer 16")))(&$0)
    },
    SeededFault(.rowsMayBreakRule, in: second, at: "[a-", also: [.rowsReadInPlace, .equalHashes]) {
      let code = P.attribute("code", "String", "optional=\"YES\" regularExpressionString=\"[a-\"")
      try versions(P.person(P.attribute("code")), P.person(code))(&$0)
    },
    SeededFault(.rowsMayBreakRule, in: second, at: "[a-", key: "GW212:Person.code:\(step)") { project in
      let code = P.attribute("code", "String", "optional=\"YES\" regularExpressionString=\"[a-\"")
      try versions(P.person(name), P.person(name, code))(&project)
      try project.mapping("One", from: "App", to: "App 2", "name: $source.name")
    },
    SeededFault(
      .renameChainBroken, in: P.contents("App"), at: "\"one\"", key: "GW213:Person.one:App→App 3",
      also: [.renameUnmatched]
    ) { project in
      try project.version("App", P.person(P.attribute("one")))
      try project.version("App 2", P.person(P.attribute("two", "String", "optional=\"YES\" elementID=\"one\"")))
      try project.version("App 3", P.person(P.attribute("three", "String", "optional=\"YES\" elementID=\"two\"")))
      try project.current("App 3")
    },
    SeededFault(.renameUnmatched, in: second, at: "name=\"age\"", key: "GW214:Person.age:\(step)") {
      let old = P.attribute("years", "String", "optional=\"YES\" elementID=\"age\"")
      try versions(P.person(old), P.person(old, P.attribute("age")))(&$0)
    },
    SeededFault(.renameUnseen, in: second, at: "<entity", key: "GW215:Person:\(step)", also: [.equalHashes]) {
      let both = ["Person", "House"]
      func entities(_ was: [String]) -> String {
        zip(both, was).map { "<entity name=\"\($0)\"\($0 == $1 ? "" : " elementID=\"\($1)\"")/>" }.joined(
          separator: "\n")
      }
      try versions(entities(both), entities(["House", "House"]))(&$0)
    },
    SeededFault(.numberRounded, in: second, at: "\"age\"", key: "GW216:Person.age:\(step)") {
      try versions(P.person(P.attribute("age", "Integer 64")), P.person(P.attribute("age", "Double")))(&$0)
    },
    SeededFault(.orderDropped, in: second, at: "\"houses\"", key: "GW217:Person.houses:\(step)") {
      let houses = P.relationship("houses", to: "House", inverse: "owner", "optional=\"YES\" toMany=\"YES\"")
      let owner = P.relationship("owner", to: "Person", inverse: "houses", "optional=\"YES\" maxCount=\"1\"")
      let more = house.replacing("</entity>", with: owner + "\n</entity>")
      try versions(
        P.person(houses.replacing("toMany", with: "ordered=\"YES\" toMany"), more: more), P.person(houses, more: more))(
          &$0)
    },
  ]

  // MARK: Mapping models

  private static let mappingFaults: [SeededFault] = [
    SeededFault(
      .mappingModelStale, in: "One.xcmappingmodel/xcmapping.xml", at: "<?xml", key: "GW301:One.xcmappingmodel:\(step)"
    ) { project in
      try versions(P.person(name), P.person(name, P.attribute("note")))(&project)
      try project.xcodeMapping("One", from: "App", ["name"], to: "App 2", ["name"])
    },
    SeededFault(
      .mappingModelUnusable, in: "One.mapping.yaml", at: "source: Persn", key: "GW302:One.mapping.yaml:\(step)"
    ) { project in
      try versions(P.person(name), P.person(name, P.attribute("note")))(&project)
      try project.mapping("One", from: "App", to: "App 2", "name: $source.name", entity: "Persn")
    },
    SeededFault(.mappingModelUnusable, in: "One.mapping.yaml", at: "age +", key: "GW302:One.mapping.yaml") { project in
      try versions(P.person(name), P.person(name, P.attribute("note")))(&project)
      try project.mapping("One", from: "App", to: "App 2", "name: $source.age +")
    },
    SeededFault(
      .mappingModelUnmatched, in: "Maps/One.mapping.yaml", at: "godwit-mapping", key: "GW303:Maps/One.mapping.yaml"
    ) { project in
      try versions(P.person(name), P.person(name, P.attribute("note")))(&project)
      try project.mapping("Maps/One", from: "Old", to: "App 2", "name: $source.name")
    },
    SeededFault(.mappingModelsConflict, in: P.contents("App"), at: "<model", key: "GW304:App") { project in
      try versions(P.person(name), P.person(name, P.attribute("note")))(&project)
      try project.mapping("One", from: "App", to: "App 2", "name: $source.name")
      try project.mapping("Two", from: "App", to: "App 2", "note: $source.name")
    },
  ]

  // MARK: The layout

  private static let layoutFaults = [
    layoutFault,
    SeededFault(
      .layoutAmbiguous, in: second, at: "name=\"Person\"", key: "GW401:Person", also: [.needsMappingModel]
    ) {
      try versions(P.person(name), P.person(name, more: "<entity name=\"PERSON\">\n" + name + "\n</entity>"))(&$0)
    },
    SeededFault(.layoutAmbiguous, in: P.contents("App"), at: "\"_METADATA\"", key: "GW401:_METADATA") {
      try $0.version("App", P.person(name, more: "<entity name=\"_METADATA\">\n" + name + "\n</entity>"))
    },
  ]

  private static let layoutFault = SeededFault(
    .layoutAmbiguous, in: P.contents("App"), at: "<relationship name=\"friends\"",
    key: "GW401:join table of Person.friends and Person.friendOf"
  ) { project in
    let toMany = "optional=\"YES\" toMany=\"YES\""
    try project.version(
      "App",
      P.person(
        P.relationship("friendOf", to: "Person", inverse: "friends", toMany),
        P.relationship("friends", to: "Person", inverse: "friendOf", toMany)))
  }
}

extension SeededFault {
  // MARK: CloudKit

  /// A configuration that CloudKit shares.
  static let cloud =
    "<configuration name=\"Cloud\" usedWithCloudKit=\"YES\"><memberEntity name=\"Person\"/></configuration>"

  fileprivate static let cloudKitFaults: [SeededFault] = [
    SeededFault(.cloudkitRefuses, in: second, at: "\"age\"", key: "GW501:Person.age") {
      let age = P.attribute("age", "Integer 16", "")
      try versions(P.person(age), P.person(age, name, more: cloud))(&$0)
    },
    SeededFault(.cloudkitKeeps, in: second, at: "\"full\"", key: "GW502:Person.full:\(step)") {
      let full = P.attribute("full", "String", "optional=\"YES\" elementID=\"name\"")
      try versions(P.person(name, more: cloud), P.person(full, more: cloud))(&$0)
    },
  ]
}

/// The value, or an error for a test that forgot to make it.
private func requireValue<Value>(_ value: Value?) throws -> Value {
  guard let value else { throw GodwitError(.internalBug, "the test's lock file lacks the model") }
  return value
}
