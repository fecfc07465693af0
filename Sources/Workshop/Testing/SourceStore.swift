import Foundation
import GodwitModel
import GodwitStore

/// The objects of a test, checked against the model and linked on both sides, ready to be written as a store.
struct SourceStore {
  private struct Entry {
    var object: SourceObject
    var key: Int64 = 0
    var attributes: [String: AttributeValue] = [:]
    /// The objects that each relationship leads to, by their place among the entries.
    var links: [String: [Int]] = [:]
    /// The relationships that the test wrote.
    var written: Set<String> = []
  }

  private let model: ManagedObjectModel
  private let schema: StoreSchema
  private var entries: [Entry] = []
  private var places: [UInt64: Int] = [:]

  /// The number of objects.
  var count: Int { entries.count }

  /// - Throws: `.usage` (64) for values that the model does not have, that do not fit or that are missing, with the
  ///   place in the test.
  init(_ objects: [SourceObject], model: ManagedObjectModel) throws {
    self.model = model
    schema = StoreSchema(model: model)
    collect(objects)
    try giveKeys()
    for place in entries.indices { try fill(place) }
    try linkInverses()
    for entry in entries { try requireProperties(entry) }
  }

  /// Takes the objects of a test, then those that they lead to, each in its newest copy.
  private mutating func collect(_ objects: [SourceObject]) {
    var newest: [UInt64: SourceObject] = [:]
    var waiting = objects[...]
    while let object = waiting.popFirst() {
      if let known = newest[object.identity], known.revision >= object.revision { continue }
      newest[object.identity] = object
      waiting.append(contentsOf: object.neighbours)
    }
    waiting = objects[...]
    while let copy = waiting.popFirst() {
      guard places[copy.identity] == nil, let object = newest[copy.identity] else { continue }
      places[object.identity] = entries.count
      entries.append(Entry(object: object))
      waiting.append(contentsOf: object.neighbours)
    }
  }

  private func failure(_ object: SourceObject, _ problem: String, try remedy: String) -> GodwitError {
    GodwitError(
      .usage, "cannot make an object of entity '\(object.entityName)': \(problem)", location: object.location,
      remedy: remedy)
  }

  private static func list(_ names: some Sequence<String>) -> String {
    names.sorted { Text($0) < Text($1) }.joined(separator: ", ")
  }

  private mutating func giveKeys() throws {
    var taken: [String: Set<Int64>] = [:]
    for entry in entries {
      let object = entry.object
      guard let entity = model.entity(object.entityName), let root = model.root(of: entity.name)?.name else {
        let names = model.entities.filter { !$0.isAbstract }.map(\.name)
        throw failure(
          object,
          "model '\(model.name)' has no such entity" + Spelling.suggestion(for: object.entityName, among: names),
          try: "write one of \(Self.list(names))")
      }
      guard !entity.isAbstract else {
        let names = model.family(of: entity.name).filter { !$0.isAbstract }.map(\.name)
        throw failure(object, "the entity is abstract", try: "write one of \(Self.list(names))")
      }
      guard let key = object.key else { continue }
      guard key > 0 else {
        throw failure(object, "expected a key above 0, found \(key)", try: "write a key from 1, or leave it out")
      }
      guard taken[root, default: []].insert(key).inserted else {
        throw failure(
          object, "key \(key) is taken by another object of the same table",
          try: "write another key, or leave it out; all entities with the root '\(root)' share a table")
      }
    }
    var last: [String: Int64] = [:]
    for place in entries.indices {
      let object = entries[place].object
      let root = model.root(of: object.entityName)?.name ?? object.entityName
      var key = object.key ?? (last[root] ?? 0) + 1
      if object.key == nil {
        while taken[root]?.contains(key) == true { key += 1 }
        last[root] = key
      }
      entries[place].key = key
    }
  }

  // MARK: Properties

  private mutating func fill(_ place: Int) throws {
    let object = entries[place].object
    for name in object.contents.keys.sorted() {
      guard let content = object.contents[name] else { continue }
      if let attribute = model.attribute(name, of: object.entityName) {
        entries[place].attributes[name] = try value(content, of: attribute, in: object)
      } else if let relationship = model.relationship(name, of: object.entityName) {
        entries[place].links[name] = try links(content, of: relationship, in: object)
        entries[place].written.insert(name)
      } else {
        let names =
          model.attributes(of: object.entityName).map(\.name)
          + model.relationships(of: object.entityName).map(\.name)
        throw failure(
          object,
          "it has no attribute or relationship '\(name)'" + Spelling.suggestion(for: name, among: names),
          try: names.isEmpty ? "remove the property" : "write one of \(Self.list(names))")
      }
    }
  }

  private func value(
    _ content: SourceContent?, of attribute: AttributeDescription, in object: SourceObject
  ) throws -> AttributeValue {
    guard schema.column(of: attribute.name, in: object.entityName) != nil else {
      throw failure(
        object,
        "a store does not keep attribute '\(attribute.name)', which is "
          + (attribute.isTransient ? "transient" : "of type \(attribute.type.xcodeName)"), try: "leave it out")
    }
    guard let content else { return .null }
    let expected =
      attribute.type.integerRange.map { "an integer from \($0.lowerBound) to \($0.upperBound)" }
      ?? attribute.type.phrase
    let example = attribute.type.facts.literal
    func mismatch(_ found: String) -> GodwitError {
      failure(
        object, "attribute '\(attribute.name)' takes \(expected), found \(found)",
        try: "write \(expected)" + (example.map { ", for example `\($0)`" } ?? ""))
    }
    guard case .value(var value) = content.kind else { throw mismatch(content.phrase) }
    // A Swift literal with a decimal point is a Double, but it means the number as it is written.
    if attribute.type == .decimal, case .double(let number) = value, let exact = Decimal(string: "\(number)") {
      value = .decimal(exact)
    }
    if (try? SQLValue(encoding: value, as: attribute)) == nil {
      if case .integer(let number) = value, attribute.type.isInteger { throw mismatch("\(number)") }
      throw mismatch(value.phrase)
    }
    return value
  }

  private func links(
    _ content: SourceContent?, of relationship: RelationshipDescription, in object: SourceObject
  ) throws -> [Int] {
    let name = relationship.name
    guard !relationship.isTransient, schema.storage(of: name, in: object.entityName) != .none else {
      throw failure(object, "a store does not keep relationship '\(name)', which is transient", try: "leave it out")
    }
    guard let content else { return [] }
    let found: [SourceObject]
    switch (content.kind, relationship.isToMany) {
    case (.object(let other), false): found = [other]
    case (.objects(let others), true): found = others
    case (.object, true), (.value, true):
      throw failure(
        object, "to-many '\(name)' takes an array of objects, found \(content.phrase)",
        try: "write `[object]` with objects of '\(relationship.destinationEntityName)'")
    case (.objects, false), (.value, false):
      throw failure(
        object, "to-one '\(name)' takes one object, found \(content.phrase)",
        try: "write an object of '\(relationship.destinationEntityName)'")
    }
    for other in found where !model.isKind(other.entityName, of: relationship.destinationEntityName) {
      throw failure(
        object,
        "relationship '\(name)' leads to '\(relationship.destinationEntityName)', found an object of "
          + "'\(other.entityName)'", try: "write an object of '\(relationship.destinationEntityName)'")
    }
    var links: [Int] = []
    // A set of objects holds each of them once.
    for place in found.compactMap({ places[$0.identity] }) where !links.contains(place) { links.append(place) }
    return links
  }

  /// Adds the other side of every link that the test names from one side.
  private mutating func linkInverses() throws {
    for place in entries.indices {
      let object = entries[place].object
      for name in entries[place].written.sorted() {
        guard let relationship = model.relationship(name, of: object.entityName),
          let inverse = model.inverse(of: relationship), !inverse.isTransient
        else { continue }
        for other in entries[place].links[name] ?? [] {
          var links = entries[other].links[inverse.name] ?? []
          guard !links.contains(place) else { continue }
          links.append(place)
          guard inverse.isToMany || links.count == 1 else {
            throw failure(
              entries[other].object, "to-one '\(inverse.name)' would lead to two objects",
              try: "name the object in '\(name)' of one '\(object.entityName)' only")
          }
          entries[other].links[inverse.name] = links
        }
        guard !relationship.isToMany, let links = entries[place].links[name], links.count > 1 else { continue }
        throw failure(object, "to-one '\(name)' would lead to two objects", try: "name it from one side only")
      }
    }
  }

  private func requireProperties(_ entry: Entry) throws {
    let object = entry.object
    for attribute in model.attributes(of: object.entityName)
    where !attribute.isOptional && attribute.defaultValue.isNull && !attribute.isDerived
      && entry.attributes[attribute.name] == nil && schema.column(of: attribute.name, in: object.entityName) != nil
    {
      throw failure(
        object, "required attribute '\(attribute.name)' has no value, and the model gives no default",
        try: "write a value, or `nil` to test with a store that lacks it")
    }
    for relationship in model.relationships(of: object.entityName)
    where relationship.requiresObject && !relationship.isTransient && !entry.written.contains(relationship.name)
      && (entry.links[relationship.name] ?? []).isEmpty
    {
      throw failure(
        object, "required relationship '\(relationship.name)' leads to no object",
        try: "write an object of '\(relationship.destinationEntityName)', or `nil` to test with a store that lacks it")
    }
  }

  // MARK: Writing

  /// - Throws: as `StoreBuilder`.
  func write(to path: String) throws {
    let builder = try StoreBuilder(path: path, model: model)
    for entry in entries {
      do {
        try builder.insert(
          entry.object.entityName, key: entry.key, attributes: entry.attributes,
          relationships: entry.links.mapValues { $0.map { entries[$0].key } })
      } catch var error as GodwitError {
        error.location = error.location ?? entry.object.location
        throw error
      }
    }
    try builder.finish()
  }
}
