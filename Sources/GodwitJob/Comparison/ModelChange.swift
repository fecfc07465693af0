package import GodwitModel

/// One difference between two models, and its demands on the data.
package struct ModelChange: Sendable, Hashable, Encodable {
  /// The means that a migration across a change needs.
  package enum Effort: String, Sendable, Hashable, Encodable {
    /// The rows stay as they are, and no hash changes.
    case nothing
    /// An inferred mapping model could do it.
    case inferable
    /// Inferable unless a row prevents it. No store was given to count such rows.
    case dependsOnRows = "depends-on-rows"
    /// Needs a mapping model, or rows that are corrected first.
    case mapping
  }

  /// The kind of a change. The raw values never change.
  package enum Kind: String, Sendable, Hashable, Encodable, CaseIterable {
    /// An entity or property is new.
    case added
    /// An entity or property is gone.
    case removed
    /// An entity or property has another name.
    case renamed
    /// A property moves along a hierarchy.
    case moved
    /// An attribute becomes a relationship, or a relationship an attribute.
    case kind
    /// An entity has another parent.
    case parent
    /// An entity becomes abstract, or is no longer.
    case abstract
    /// The hash modifier.
    case hashModifier = "hash-modifier"
    /// A uniqueness constraint is new.
    case uniquenessAdded = "uniqueness-added"
    /// A uniqueness constraint is gone.
    case uniquenessRemoved = "uniqueness-removed"
    /// A property becomes transient, or is no longer.
    case transient
    /// The derivation of an attribute.
    case derivation
    /// The type of an attribute.
    case type
    /// Optional to required, or required to optional.
    case optionality
    /// Whether values may be in files of their own.
    case externalStorage = "external-storage"
    /// Whether a value is kept in persistent history.
    case keptInHistory = "kept-in-history"
    /// The minimum or maximum of an attribute gets tighter.
    case limits
    /// The regular expression of an attribute.
    case regularExpression = "regular-expression"
    /// The entity that a relationship leads to.
    case destination
    /// To-one to to-many, or to-many to to-one.
    case toMany = "to-many"
    /// Ordered to unordered, or unordered to ordered.
    case order
    /// The inverse of a relationship.
    case inverse
    /// The minimum or maximum count of a relationship.
    case counts
  }

  /// The name in the later model; for a removed entity in the earlier one.
  package let entity: String
  /// Nil when the entity as a whole is concerned.
  package let property: String?
  /// For example `optional to required, no default, 312 rows are null`.
  package let change: String
  /// The kind of the change, as a code.
  package let kind: Kind
  /// The means that a migration across the change needs.
  package let effort: Effort
  /// The number of rows in the text; nil without a store, or if the change affects no countable rows.
  package let rows: Int64?
  /// Whether the version hash of the entity covers it.
  package let isPartOfHash: Bool
  /// The difference in the earlier model, for example `the store's model says optional`.
  package let inEarlierModel: String

  private enum CodingKeys: String, CodingKey {
    case entity, property, change, effort, rows, isPartOfHash, inEarlierModel
    case kind = "changeCode"
  }

  /// `Note.title`, or `entity Note`.
  package var path: String { property.map { "\(entity).\($0)" } ?? "entity \(entity)" }

  /// The changes from one model to another, in name order of the entities. The changes of an entity itself come before
  /// those of its properties.
  ///
  /// Changes that affect neither hashes nor validation (class names, delete rules, indexes, defaults) are left out.
  package static func changes(from old: ManagedObjectModel, to new: ManagedObjectModel) -> [ModelChange] {
    // Without a store nothing is read, so nothing fails.
    (try? ModelChangeList(from: old, to: new, counts: nil).changes) ?? []
  }

  /// As `changes(from:to:)`, with counts from a store of the earlier model; scans a table for most changes.
  ///
  /// - Parameters:
  ///   - old: The version of the store.
  ///   - new: The requested version.
  ///   - path: The store.
  /// - Throws: `.missingInput` (66) if the store is missing; `.permission` (77) when it cannot be read; `.dataWrong`
  ///   (65) when it is damaged or lacks a table or column of the model.
  package static func changes(
    from old: ManagedObjectModel, to new: ManagedObjectModel, countingInStoreAt path: String
  ) throws -> [ModelChange] {
    let counts = try StoreCounts(readingStoreAt: path, model: old)
    return try ModelChangeList(from: old, to: new, counts: counts).changes
  }
}

extension ModelChange: CustomStringConvertible {
  /// One line: the path, the change, and the means that a migration needs.
  package var description: String {
    let remark =
      switch effort {
      case .mapping: ": needs a mapping"
      case .dependsOnRows: ": needs a mapping if rows prevent inference"
      case .nothing: " (not part of the hash)"
      case .inferable: ""
      }
    return "\(path): \(change)\(remark)"
  }
}
