import Foundation

/// The facts of an attribute or relationship that a comparison reports.
package struct PropertyFacts {
  package let name: String
  /// `String`, or `to-many Person`.
  package let kind: String
  /// `attribute` or `relationship`.
  package let noun: String
  package let isTransient: Bool
  private let facts: [(label: String, text: String)]

  package init(_ attribute: AttributeDescription) {
    name = attribute.name
    kind = attribute.type.xcodeName
    noun = "attribute"
    isTransient = attribute.isTransient
    facts = [
      ("type", kind),
      ("optional", Fact.yes(attribute.isOptional)),
      ("transient", Fact.yes(attribute.isTransient)),
      ("default", Fact.value(attribute.defaultValue)),
      ("minimum", attribute.minimumValue.map(Fact.value) ?? attribute.minimumLength.map { "\($0)" } ?? "none"),
      ("maximum", attribute.maximumValue.map(Fact.value) ?? attribute.maximumLength.map { "\($0)" } ?? "none"),
      ("regular expression", attribute.regularExpression ?? "none"),
      ("derivation", attribute.derivationExpression ?? "none"),
      ("external storage", Fact.yes(attribute.allowsExternalBinaryDataStorage)),
      ("kept in history", Fact.yes(attribute.preservesValueInHistoryOnDeletion)),
      ("value transformer", attribute.valueTransformerName ?? "none"),
      ("indexed", Fact.yes(attribute.isIndexed)),
      ("hash modifier", attribute.versionHashModifier ?? "none"),
    ]
  }

  package init(_ relationship: RelationshipDescription) {
    name = relationship.name
    kind = "\(relationship.isToMany ? "to-many" : "to-one") \(relationship.destinationEntityName)"
    noun = "relationship"
    isTransient = relationship.isTransient
    facts = [
      ("type", kind),
      ("optional", Fact.yes(relationship.isOptional)),
      ("transient", Fact.yes(relationship.isTransient)),
      ("ordered", Fact.yes(relationship.isOrdered)),
      ("inverse", relationship.inverseName ?? "none"),
      ("minimum count", "\(relationship.minCount)"),
      ("maximum count", "\(relationship.maxCount)"),
      ("delete rule", relationship.deleteRule.rawValue),
      ("hash modifier", relationship.versionHashModifier ?? "none"),
    ]
  }

  func changes(to other: PropertyFacts) -> [Fact.Change] { Fact.changes(facts, other.facts) }
}

package enum Fact {
  /// The facts of an entity that a comparison reports.
  static func all(of entity: EntityDescription) -> [(label: String, text: String)] {
    [
      ("parent", entity.superentityName ?? "none"),
      ("abstract", yes(entity.isAbstract)),
      ("class", entity.managedObjectClassName ?? "none"),
      ("hash modifier", entity.versionHashModifier ?? "none"),
      ("uniqueness", lists(entity.uniquenessConstraints)),
      ("fetch indexes", lists([entity.fetchIndexes.map(\.name)])),
      ("compound indexes", lists(entity.compoundIndexes)),
      ("fetched properties", lists([entity.fetchedProperties.map(\.name)])),
    ]
  }

  /// `label old to new` for each label of both whose texts differ; a label of one side only does not count.
  static func changes(_ old: [(label: String, text: String)], _ new: [(label: String, text: String)]) -> [Change] {
    new.compactMap { fact in
      guard let was = old.first(where: { $0.label == fact.label }), was.text != fact.text else { return nil }
      return Change(
        code: fact.label.replacing(" ", with: "-"), text: "\(fact.label) \(was.text) to \(fact.text)")
    }
  }

  /// One change, as a code and in words.
  struct Change {
    /// The label, with hyphens for spaces.
    var code, text: String
  }

  package static func yes(_ flag: Bool) -> String { flag ? "yes" : "no" }

  static func lists(_ lists: [[String]]) -> String {
    let texts = lists.filter { !$0.isEmpty }.map { $0.joined(separator: ", ") }
    return texts.isEmpty ? "none" : texts.joined(separator: " | ")
  }

  package static func value(_ value: AttributeValue) -> String {
    switch value {
    case .null: "none"
    case .boolean(let flag): yes(flag)
    case .integer(let number): "\(number)"
    case .decimal(let number): "\(number)"
    case .double(let number), .date(let number): "\(number)"
    case .string(let text), .uri(let text): "'\(text)'"
    case .data(let bytes): "\(bytes.count) bytes"
    case .uuid(let uuid): uuid.uuidString
    }
  }
}
