import Foundation
import GodwitModel

/// The decimals of an atomic store that lose digits when it is read: an XML or binary store holds 38 digits, and the
/// SQLite store that takes its place while it is read holds doubles.
///
/// A table of that store has how many there are of each attribute. A store without such decimals has no such table.
package struct RoundedDecimals {
  /// The table's name, which neither Core Data nor a model gives.
  static let table = "GODWIT_ROUNDED"

  /// The number of decimals by `Entity.attribute`.
  package private(set) var counts: [String: Int64] = [:]

  package init() {}

  /// The decimals that were counted when the source was read.
  package init(readingSourceOf connection: StoreConnection) throws {
    let database = StoreConnection.sourceSchema
    guard
      try connection.integer(
        "SELECT 1 FROM \(database).sqlite_master WHERE type = 'table' AND name = ?1", [.text(Self.table)]) != nil
    else { return }
    try connection.query("SELECT subject, number FROM \(database).\(Self.table)") { row in
      if let subject = row.string(0) { counts[subject] = row.int64(1) }
      return true
    }
  }

  /// The decimals of the store that a reader reads.
  package init(of reader: ObjectReader) throws { try self.init(readingSourceOf: reader.connection) }

  /// Counts the decimals of an object.
  mutating func count(_ attributes: [String: AttributeValue], of entity: String) {
    for (name, value) in attributes {
      guard case .decimal(let number) = value, number.losesDigits else { continue }
      counts["\(entity).\(name)", default: 0] += 1
    }
  }

  /// Adds the decimals of another store.
  package mutating func add(_ other: RoundedDecimals) { counts.merge(other.counts, uniquingKeysWith: +) }

  /// Writes the counts into a database of a connection.
  package func write(to connection: StoreConnection, in database: String = StoreConnection.sourceSchema) throws {
    guard !counts.isEmpty else { return }
    let table = "\(database).\(Self.table)"
    try connection.execute("CREATE TABLE \(table) (subject TEXT PRIMARY KEY, number INTEGER)")
    for (subject, number) in counts {
      try connection.execute("INSERT INTO \(table) VALUES (?1, ?2)", [.text(subject), .integer(number)])
    }
  }
}

extension Decimal {
  /// Whether the stored form of the number is another number.
  fileprivate var losesDigits: Bool {
    guard isFinite, wholeNumber == nil else { return false }
    return Decimal(stored: nearestDouble) != self
  }
}
