import GodwitModel
import GodwitStore

/// The form of a table's rows, which tells its pages from the pages of other tables.
struct TableShape {
  struct Column {
    let name: String
    let kind: Kind
  }

  /// The values that a column may hold.
  enum Kind: Hashable {
    /// The column that stands for the key of the row, and is stored as NULL.
    case key
    /// `Z_ENT`
    case entity
    case integer
    case number
    case text
    /// Texts and bytes, as any program may store them in a column without affinity.
    case bytes
    case attribute(AttributeType)
    case any
  }

  let table: String
  /// The columns that a record holds, in order.
  let columns: [Column]
  /// The entity numbers of the table's rows; empty if the table has no entities, or they are unknown.
  let entityNumbers: Set<Int64>
  /// The lengths of records that are known from pages whose place is certain, besides the number of columns: rows are
  /// shorter that were written before a column was added.
  var knownLengths: Set<Int> = []

  /// Whether a record can be a row of the table. Sound pages that are where they belong are read without this question.
  func fits(_ values: [SQLValue]) -> Bool {
    guard values.count == columns.count || knownLengths.contains(values.count) else { return false }
    for (column, value) in zip(columns, values) where !Self.fits(value, column.kind, entityNumbers) { return false }
    return true
  }

  /// Whether a record can be a row of the table, or one that was written before columns were added.
  func begins(_ values: [SQLValue]) -> Bool {
    guard values.count <= columns.count else { return false }
    for (column, value) in zip(columns, values) where !Self.fits(value, column.kind, entityNumbers) { return false }
    return true
  }

  private static func fits(_ value: SQLValue, _ kind: Kind, _ numbers: Set<Int64>) -> Bool {
    switch (kind, value) {
    case (.key, .null): true
    case (.key, _): false
    case (.entity, .integer(let number)): numbers.isEmpty || numbers.contains(number)
    case (.entity, _): false
    case (_, .null), (.any, _): true
    case (.integer, .integer), (.number, .integer), (.number, .real): true
    case (.number, .text(let bytes)): bytes.elementsEqual("NaN".utf8)
    case (.text, .text(let bytes)): Self.isText(bytes)
    case (.bytes, .blob), (.bytes, .text): true
    case (.attribute(.string), .text(let bytes)), (.attribute(.uri), .text(let bytes)): Self.isText(bytes)
    case (.attribute(.boolean), .integer(let number)): number == 0 || number == 1
    case (.attribute(.integer16), .integer(let number)): Int16(exactly: number) != nil
    case (.attribute(.integer32), .integer(let number)): Int32(exactly: number) != nil
    case (.attribute(let type), _): AttributeValue(stored: value, as: type) != nil
    default: false
    }
  }

  private static func isText(_ bytes: [UInt8]) -> Bool {
    !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
  }
}
