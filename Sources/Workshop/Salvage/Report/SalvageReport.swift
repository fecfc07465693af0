import GodwitModel

/// The content of a copy, the losses, and all that was inferred.
package struct SalvageReport: Encodable, Sendable {
  /// A table of the copy.
  package struct Table: Encodable, Sendable {
    /// The name of the table.
    package var name: String
    /// The entity that the table is named after; nil for any other table.
    package var entity: String?
    /// The rows of the copy.
    package var rows: Int64
    /// Those from pages to which no tree led any more.
    package var orphanRows: Int64
    /// Those among them whose table was found by their values alone.
    package var inferredRows: Int64
    /// Rows that decode and were not written: their key or a constraint of the table forbids it.
    package var refusedRows: Int64
    /// Whether the table is the model's, because the store has no definition of it.
    package var isMade: Bool
    /// The columns that the store lacked.
    package var madeColumns: [String]
    /// The ranges of keys in which rows are lost, at most 200.
    package var lost: [Range]
    /// How many such ranges there are.
    package var lostRanges: Int
  }

  /// A range of keys in which rows are lost.
  package struct Range: Encodable, Sendable {
    /// The first key; nil without a lower limit.
    package var first: Int64?
    /// The last key; nil without an upper limit.
    package var last: Int64?
    /// The damaged page; nil if it is not known.
    package var page: UInt32?
    /// `missing`, `damaged`, `misplaced`, or `rows` for single rows of a page.
    package var reason: String
    /// The rows that were found between these keys all the same.
    package var rows: Int64
  }

  /// Links of one relationship whose object is lost.
  package struct Links: Encodable, Sendable {
    /// `Entity.relationship`.
    package var relationship: String
    /// The table that held the links.
    package var table: String
    /// How many links are gone.
    package var count: Int64
    /// The keys of the first objects that lost a link.
    package var keys: [Int64]
    /// Whether a link is a pair that was left out; otherwise it is a value that is nil now.
    package var isPair: Bool
  }

  /// Rows whose `Z_ENT` is of no entity of their table.
  package struct Strays: Encodable, Sendable {
    /// The name of the table.
    package var table: String
    /// The number; nil for none.
    package var number: Int64?
    /// How many rows have it.
    package var rows: Int64
    /// The lowest key of these rows.
    package var firstKey: Int64
    /// The highest key of these rows.
    package var lastKey: Int64
    /// Whether the rows were left out, because no reader accepts them.
    package var isLeftOut: Bool
  }

  /// External data whose files are missing.
  package struct MissingFiles: Encodable, Sendable {
    /// `Entity.attribute`.
    package var attribute: String
    /// How many values name a file that is missing.
    package var count: Int64
    /// The first names.
    package var files: [String]
    /// Whether these values are nil now; otherwise they still name the files, because nil is not valid.
    package var isNil: Bool
  }

  /// Pages of the file.
  package struct Pages: Encodable, Sendable {
    /// The size of a page in bytes.
    package var sizeBytes: Int
    /// The pages of the store, those of its log included.
    package var count: Int
    /// The pages that the header names and the file lacks.
    package var missing: Int
    /// The pages that the disk could not read.
    package var unreadable: Int
    /// Sound pages with rows of a table that is not known, at most 100.
    package var unassigned: [UInt32]
  }

  /// The damaged store.
  package var source: String
  /// The copy.
  package var copy: String
  /// The name of the model; nil if there is none.
  package var model: String?
  /// `given`, `cache` or `receipt`; nil without a model.
  package var modelOrigin: String?
  package var pages: Pages
  package var tables: [Table] = []
  package var links: [Links] = []
  package var strays: [Strays] = []
  package var missingFiles: [MissingFiles] = []
  /// The external files that were copied.
  package var files: Int = 0
  /// The losses besides rows, links and files, one sentence each.
  package var losses: [String] = []
  /// All that was inferred, rebuilt or corrected, one sentence each.
  package var inferred: [String] = []

  /// Whether nothing was lost.
  package var isWhole: Bool {
    losses.isEmpty && links.isEmpty && missingFiles.isEmpty && pages.unassigned.isEmpty
      && !strays.contains(where: \.isLeftOut)
      && tables.allSatisfy { $0.lostRanges == 0 && $0.refusedRows == 0 }
  }

  private enum CodingKeys: String, CodingKey {
    case source, copy, model, modelOrigin, pages, tables, links, strays, missingFiles, files, losses, inferred, isWhole
  }

  /// Writes the report with `isWhole`.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(source, forKey: .source)
    try container.encode(copy, forKey: .copy)
    try container.encodeIfPresent(model, forKey: .model)
    try container.encodeIfPresent(modelOrigin, forKey: .modelOrigin)
    try container.encode(pages, forKey: .pages)
    try container.encode(tables, forKey: .tables)
    try container.encode(links, forKey: .links)
    try container.encode(strays, forKey: .strays)
    try container.encode(missingFiles, forKey: .missingFiles)
    try container.encode(files, forKey: .files)
    try container.encode(losses, forKey: .losses)
    try container.encode(inferred, forKey: .inferred)
    try container.encode(isWhole, forKey: .isWhole)
  }
}

extension SalvageReport: CustomStringConvertible {
  /// The report as people read it.
  package var description: String {
    var lines = [headline]
    lines.append(
      "  model        " + (model.map { "\($0), \(originText)" } ?? "none: the tables are as SQLite has them"))
    lines.append("  pages        \(pages.count) of \(pages.sizeBytes) bytes\(pagesText)")
    for table in tables { lines += Self.lines(table) }
    for link in links {
      let keys = link.keys.map { "p\($0)" }.joined(separator: ", ")
      let more = Int64(link.keys.count) < link.count ? ", …" : ""
      lines.append(
        "  link lost    \(link.relationship): \(link.count.counted("link")) \(link.isPair ? "left out" : "set to nil") (\(keys)\(more))"
      )
    }
    for stray in strays {
      let number = stray.number.map { "Z_ENT \($0)" } ?? "no Z_ENT"
      lines.append(
        "  stray        \(stray.table): \(stray.rows.counted("row")) with \(number), keys \(stray.firstKey) to \(stray.lastKey)\(stray.isLeftOut ? ", left out" : "")"
      )
    }
    for missing in missingFiles {
      let more = Int64(missing.files.count) < missing.count ? ", …" : ""
      lines.append(
        "  file missing \(missing.attribute): \(missing.count.counted("value")) \(missing.isNil ? "set to nil" : "still naming it, as nil is not valid") (\(missing.files.joined(separator: ", "))\(more))"
      )
    }
    lines += losses.map { "  lost         \($0)" }
    lines += inferred.map { "  inferred     \($0)" }
    return lines.map(\.onOneLine).joined(separator: "\n")
  }

  private var headline: String {
    let rows = tables.filter { $0.entity != nil }.reduce(0) { $0 + $1.rows }
    let objects = model == nil ? tables.reduce(0) { $0 + $1.rows } : rows
    return "\(copy): \(objects.counted(model == nil ? "row" : "object")), "
      + (isWhole
        ? model == nil ? "nothing was lost of the tables that it has" : "nothing was lost" : "not all of '\(source)'")
  }

  private var originText: String {
    switch modelOrigin {
    case "given": "as given"
    case "cache": "from the store"
    default: "from the receipt"
    }
  }

  private var pagesText: String {
    var parts: [String] = []
    if pages.missing > 0 { parts.append("\(pages.missing) are cut off") }
    if pages.unreadable > 0 { parts.append("the disk cannot read \(pages.unreadable)") }
    if !pages.unassigned.isEmpty {
      parts.append(
        "\(pages.unassigned.count.counted("page")) with rows of an unknown table: \(pages.unassigned.prefix(10).map(String.init).joined(separator: ", "))"
      )
    }
    return parts.map { "; \($0)" }.joined()
  }

  private static func lines(_ table: Table) -> [String] {
    var text = "  table        \(table.name): \(table.rows.counted("row"))"
    if table.orphanRows > 0 { text += ", \(table.orphanRows) from pages without a tree" }
    if table.refusedRows > 0 { text += ", \(table.refusedRows) refused" }
    if table.isMade { text += ", made from the model" }
    var lines = [text]
    for range in table.lost.prefix(20) {
      let page = range.page.map { ", page \($0) \(Self.word(range.reason))" } ?? ""
      let found = range.rows > 0 ? ", \(range.rows) found" : ""
      lines.append("    lost       \(Self.keys(range))\(found)\(page)")
    }
    if table.lostRanges > 20 { lines.append("    lost       \(table.lostRanges - 20) more ranges: see --format json") }
    return lines
  }

  private static func keys(_ range: Range) -> String {
    switch (range.first, range.last) {
    case (let first?, let last?) where first == last: "key \(first)"
    case (let first?, let last?): "keys \(first) to \(last)"
    case (let first?, nil): "keys from \(first) on"
    case (nil, let last?): "keys up to \(last)"
    case (nil, nil): "any key"
    }
  }

  private static func word(_ reason: String) -> String {
    switch reason {
    case "missing": "is missing"
    case "misplaced": "has other rows"
    case "rows": "has rows that do not decode"
    default: "is damaged"
    }
  }
}
