public import Foundation
public import GodwitModel

/// One difference between two models, and what it asks of the data.
public struct ModelChange: Sendable, Hashable, Encodable {
  /// What a migration across a change needs.
  public enum Effort: String, Sendable, Hashable, Encodable {
    /// Nothing happens to the rows, and no hash changes.
    case nothing
    /// An inferred mapping model could do it.
    case inferable
    /// Inferable unless a row prevents it. No store was given to count such rows.
    case dependsOnRows = "depends-on-rows"
    /// Needs a mapping model, or rows that are corrected first.
    case mapping
  }

  /// The name in the later model; in the earlier one for what is removed.
  public let entity: String
  /// Nil when the entity as a whole is concerned.
  public let property: String?
  /// For example `optional to required, no default, 312 rows are null`.
  public let change: String
  /// What a migration across the change needs.
  public let effort: Effort
  /// The rows that the text counts; nil when there was no store, or nothing to count.
  public let rows: Int64?
  /// Whether the version hash of the entity covers it.
  public let isPartOfHash: Bool
  /// What sets the earlier model apart, for example `the store's model says optional`.
  public let inEarlierModel: String

  /// `Note.title`, or `entity Note`.
  public var path: String { property.map { "\(entity).\($0)" } ?? "entity \(entity)" }

  /// The changes from one model to another, in name order of the entities. The changes of an entity itself come before
  /// those of its properties.
  ///
  /// Changes that affect neither hashes nor validation (class names, delete rules, indexes, defaults) are left out.
  public static func changes(from old: ManagedObjectModel, to new: ManagedObjectModel) -> [ModelChange] {
    // Without a store nothing is read, so nothing fails.
    (try? ModelChangeList(from: old, to: new, counts: nil).changes) ?? []
  }

  /// As `changes(from:to:)`, with counts from a store of the earlier model; scans a table for most changes.
  ///
  /// - Parameters:
  ///   - old: The version of the store.
  ///   - new: The version asked about.
  ///   - url: The store.
  /// - Throws: `.missingInput` (66) when there is no store; `.permission` (77) when it cannot be read; `.dataWrong`
  ///   (65) when it is damaged or lacks a table or column of the model.
  public static func changes(
    from old: ManagedObjectModel, to new: ManagedObjectModel, countingInStoreAt url: URL
  ) throws -> [ModelChange] {
    try changes(from: old, to: new, countingInStoreAt: url.filePath)
  }

  package static func changes(
    from old: ManagedObjectModel, to new: ManagedObjectModel, countingInStoreAt path: String
  ) throws -> [ModelChange] {
    let counts = try StoreCounts(readingStoreAt: path, model: old)
    return try ModelChangeList(from: old, to: new, counts: counts).changes
  }
}

extension ModelChange: CustomStringConvertible {
  /// One line: the path, the change, and what it asks of a migration.
  public var description: String {
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
