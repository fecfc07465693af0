import Foundation
import GodwitStore

/// Prints rows of tables as JSON lines or CSV records. No value is interpreted: a date is the number that is stored.
///
/// | value | JSON | CSV |
/// |---|---|---|
/// | NULL | `null` | empty |
/// | an empty text | `""` | `""` |
/// | INTEGER, REAL | a number; `"inf"` and `"-inf"` as strings | the same |
/// | TEXT | a string | the same |
/// | TEXT that is not UTF-8 | `{"@text-base64": "…"}` | `text-base64:…` |
/// | BLOB | `{"@base64": "…"}` | `base64:…` |
struct RawWriter {
  let format: ExportFormat
  /// The columns of CSV: all that some table has, in the order in which they are met.
  private let columns: [String]

  init(format: ExportFormat, tables: [RawStore.Table]) {
    self.format = format
    var seen: Set<String> = []
    columns = tables.flatMap(\.columns).map(\.name).filter { seen.insert($0).inserted }
  }

  var head: String {
    guard format == .csv else { return "" }
    return (["@table", "@entity"] + columns.map(Self.key)).map(ObjectWriter.field).joined(separator: ",") + "\r\n"
  }

  /// Only keys of ours begin with an `@`; a column that does gets a second one.
  private static func key(_ column: String) -> String { column.hasPrefix("@") ? "@" + column : column }

  func record(_ row: RawStore.Row, of table: RawStore.Table) -> String {
    switch format {
    case .jsonl:
      var text = "{\"@table\":\(ObjectWriter.quoted(table.name))"
      if table.entityColumn != nil { text += ",\"@entity\":\(row.entity.map(ObjectWriter.quoted) ?? "null")" }
      for (column, value) in zip(table.columns, row.values) {
        text += ",\(ObjectWriter.quoted(Self.key(column.name))):\(Self.json(value))"
      }
      return text + "}\n"
    case .csv, .sqlite:
      let values = Dictionary(zip(table.columns.map(\.name), row.values)) { first, _ in first }
      let fields = [table.name, row.entity ?? ""].map(ObjectWriter.field) + columns.map { Self.field(values[$0]) }
      return fields.joined(separator: ",") + "\r\n"
    }
  }

  private static func json(_ value: SQLValue) -> String {
    switch value {
    case .null: return "null"
    case .integer(let number): return String(number)
    case .real(let number): return number.isFinite ? number.description : ObjectWriter.quoted(number.description)
    case .text(let bytes):
      guard let text = String(validating: bytes, as: UTF8.self) else {
        return "{\"@text-base64\":\"\(Data(bytes).base64EncodedString())\"}"
      }
      return ObjectWriter.quoted(text)
    case .blob(let bytes): return "{\"@base64\":\"\(Data(bytes).base64EncodedString())\"}"
    }
  }

  private static func field(_ value: SQLValue?) -> String {
    switch value {
    case nil, .null?: return ""
    case .integer(let number)?: return String(number)
    case .real(let number)?: return number.description
    case .text(let bytes)?:
      guard let text = String(validating: bytes, as: UTF8.self) else {
        return "text-base64:" + Data(bytes).base64EncodedString()
      }
      // Quotes tell an empty text from NULL.
      return text.isEmpty ? "\"\"" : ObjectWriter.field(text)
    case .blob(let bytes)?: return "base64:" + Data(bytes).base64EncodedString()
    }
  }
}
