import ArgumentParser

/// How `export` writes objects.
enum ExportFormat: String, ExpressibleByArgument, CaseIterable {
  /// One JSON object a line.
  case jsonl
  /// RFC 4180 with a header.
  case csv
  /// A SQLite database of plain tables.
  case sqlite
}
