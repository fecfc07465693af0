package import GodwitModel
import GodwitStore

/// A synthetic store of any size for a model. It uses every entity, attribute and relationship, and keeps every rule.
///
/// Equal models, numbers of rows and seeds give equal stores, the identifier included. Memory does not grow with the
/// number of rows: every value is computed from the object's place. Values are spread evenly, so the store does not
/// show how an application's own data compresses or clusters.
package struct StoreSynthesis: Sendable {
  /// The version of the store.
  package let model: ManagedObjectModel
  /// All objects of the store, over all entities: 0 to ``rowLimit``.
  package let rows: Int
  /// Chooses the values. Equal seeds give equal stores.
  package let seed: UInt64
  /// Whether to add data on which migrations often fail: gaps between keys, negative and huge keys, NULL wherever it is
  /// allowed, Unicode of every kind, extreme numbers, binary data of up to 1 MiB.
  package let isNasty: Bool

  /// The highest key of a nasty store. The lowest one is as far on the other side of 0, and the lowest there is by
  /// default.
  package let highestKey: Int64

  /// The highest key of a store that becomes an XML or binary one, where all objects are numbered together.
  package static let highestMovedKey: Int64 = 1 << 40

  /// The largest number of rows.
  package static let rowLimit = 1_000_000_000

  /// Describes a store. ``write(to:)`` makes it.
  package init(model: ManagedObjectModel, rows: Int, seed: UInt64, isNasty: Bool = false, highestKey: Int64 = .max) {
    self.model = model
    self.rows = rows
    self.seed = seed
    self.isNasty = isNasty
    self.highestKey = highestKey
  }

  /// Makes the store: under a temporary name beside the path, renamed when it is complete.
  ///
  /// - Throws: `.cannotCreate` when something is there already, or its folder is missing; `.permission` when the
  ///   folder cannot be written; `.usage` when the number of rows is out of range, or when required
  ///   relationships, limits or a regular expression cannot be satisfied; `.inputOutput` when the disk is full.
  package func write(to path: String) throws {
    guard rows >= 0, rows <= Self.rowLimit else {
      throw GodwitError(.usage, "cannot make \(rows) rows: expected 0 to \(Self.rowLimit)")
    }
    let content = try SynthesisContent(self)
    try NewFile.make(path, like: []) { try content.write(to: $0) }
  }
}
