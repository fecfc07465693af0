/// Tests of the content of a column with external storage allowed, as SQL.
package enum ExternalDataSQL {
  /// The length of a value that refers to a file.
  package static let referenceBytes = 38

  /// Whether it refers to a file: byte 2, a UUID, byte 0.
  package static func isReference(_ column: String) -> String {
    "(typeof(\(column)) = 'blob' AND length(\(column)) = \(referenceBytes) AND substr(\(column), 1, 1) = x'02' AND substr(\(column), \(referenceBytes)) = x'00')"
  }

  /// Whether it is a blob that does not hold the data: it refers to a file, or has no known form.
  package static func isNotInline(_ column: String) -> String {
    "(typeof(\(column)) = 'blob' AND substr(\(column), 1, 1) IS NOT x'01')"
  }

  /// Byte 1 before the data.
  package static func prefixed(_ sql: String) -> String { "CAST(x'01' || \(sql) AS BLOB)" }
}
