import Foundation
import GodwitModel
import GodwitStore

/// Prints rows of tables as JSON lines or CSV records. No value is interpreted: a date is the number that is stored.
///
/// | value | JSON | CSV |
/// |---|---|---|
/// | NULL | `null` | empty, or the text of `--null` |
/// | an empty text | `""` | `""` |
/// | INTEGER, REAL | a number; `"inf"` and `"-inf"` as strings | the same |
/// | TEXT | a string | the same |
/// | TEXT that is not UTF-8 | `{"@text-base64": "…"}` | `text-base64:…` |
/// | BLOB | `{"@base64": "…"}` | `base64:…` |
struct RawWriter {
  let format: ExportFormat
  private let style: ExportStyle
  /// The columns of CSV: all that some table has, in the order in which they are met.
  private let columns: [String]

  init(format: ExportFormat, style: ExportStyle = ExportStyle(), tables: [RawStore.Table]) {
    (self.format, self.style) = (format, style)
    var seen: Set<String> = []
    columns = tables.flatMap(\.columns).map(\.name).filter { seen.insert($0).inserted }
  }

  var head: String {
    guard format == .csv else { return "" }
    return (["@table", "@entity"] + columns.map(Self.key)).map(ObjectWriter.field).joined(separator: ",") + "\r\n"
  }

  /// Only keys of ours begin with an `@`; a column that does gets a second one.
  private static func key(_ column: String) -> String { column.hasPrefix("@") ? "@" + column : column }

  /// Hands the record of a row to `add`, in one piece but for large values.
  func write(
    _ row: RawStore.Row, of table: RawStore.Table, from source: RawStore, to add: (String) throws -> Void
  ) throws {
    var text: String
    func addLarge(_ place: Int) throws -> Bool {
      guard let large = row.content.large[place] else { return false }
      try add(text)
      text = ""
      let isJSON = format == .jsonl
      try LargeText(bytes: source.bytes(of: large), isText: large.isText).write(
        as: format, data: isJSON ? ("{\"@base64\":\"", "\"}") : ("base64:", ""),
        invalid: isJSON ? ("{\"@text-base64\":\"", "\"}") : ("text-base64:", ""), to: add)
      return true
    }
    switch format {
    case .jsonl:
      text = "{\"@table\":\(JSONString.quoted(table.name))"
      if table.entityColumn != nil { text += ",\"@entity\":\(row.entity.map(JSONString.quoted) ?? "null")" }
      for (place, column) in table.columns.enumerated() {
        text += ",\(JSONString.quoted(Self.key(column.name))):"
        if try !addLarge(place) { text += Self.json(row.content.values[place]) }
      }
      text += "}\n"
    case .csv, .sqlite:
      let places = Dictionary(zip(table.columns.map(\.name), table.columns.indices)) { first, _ in first }
      text = [table.name, row.entity ?? ""].map(ObjectWriter.field).joined(separator: ",")
      for column in columns {
        text += ","
        guard let place = places[column] else {
          text += style.null
          continue
        }
        if try !addLarge(place) { text += field(row.content.values[place]) }
      }
      text += "\r\n"
    }
    try add(text)
  }

  private static func json(_ value: SQLValue) -> String {
    switch value {
    case .null: return "null"
    case .integer(let number): return String(number)
    case .real(let number): return number.isFinite ? number.description : JSONString.quoted(number.description)
    case .text(let bytes):
      guard let text = String(validating: bytes, as: UTF8.self) else {
        return "{\"@text-base64\":\"\(Data(bytes).base64EncodedString())\"}"
      }
      return JSONString.quoted(text)
    case .blob(let bytes): return "{\"@base64\":\"\(Data(bytes).base64EncodedString())\"}"
    }
  }

  private func field(_ value: SQLValue) -> String {
    switch value {
    case .null: return style.null
    case .integer(let number): return String(number)
    case .real(let number): return number.description
    case .text(let bytes):
      guard let text = String(validating: bytes, as: UTF8.self) else {
        return "text-base64:" + Data(bytes).base64EncodedString()
      }
      // Quotes tell an empty text from NULL.
      return style.field(text)
    case .blob(let bytes): return "base64:" + Data(bytes).base64EncodedString()
    }
  }
}
