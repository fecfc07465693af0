package import GodwitStore

/// Gathers the tests of a row while its statement is built.
package struct RowChecks {
  private(set) package var fields: [RowCheck.Field] = []
  /// The SQL of the values that are tested, beside `fields`.
  private(set) var arguments: [String] = []
  /// The SQL of the keys of joined rows.
  private var keys: [String] = []

  package init() {}

  /// - Parameters:
  ///   - key: The key of the joined row that has the value; nil for the row `s`.
  ///   - isLarge: Whether the value may be large. Then only its storage class is tested.
  package mutating func add(_ value: String, _ test: RowCheck.Field, key: String? = nil, isLarge: Bool = false) {
    var (sql, field) = (value, test)
    // Bytes may be many, and only their storage class is needed.
    if field.kinds == [.null, .blob] && field.byteCount == nil || isLarge {
      field.isTypeName = true
      sql = "typeof(\(sql))"
    }
    guard !field.isVoid, !zip(arguments, fields).contains(where: { $0 == sql && $1.implies(field) }) else { return }
    if let key {
      field.keyPlace = keys.firstIndex(of: key) ?? keys.count
      if field.keyPlace == keys.count { keys.append(key) }
    }
    fields.append(field)
    arguments.append(sql)
  }

  /// Whether the same values are tested for the same, whatever place a failure would name.
  package func isAlike(_ other: RowChecks) -> Bool {
    func placeless(_ field: RowCheck.Field) -> RowCheck.Field {
      var field = field
      field.site = 0
      return field
    }
    return arguments == other.arguments && keys == other.keys
      && fields.map(placeless) == other.fields.map(placeless)
  }

  /// SQLite takes at most 127 arguments, and a link has two ends with a key.
  static let limit = 120

  /// SQL that is `key` when every value passes, and fails otherwise.
  ///
  /// - Parameter member: SQL of the number of the mapping that the row goes through, whose rows the call counts.
  package func guarding(_ key: String, member: String = "0", builder: StatementBuilder) -> String {
    var sql = key
    for start in stride(from: 0, to: max(1, fields.count), by: Self.limit) {
      let part = start..<min(fields.count, start + Self.limit)
      let number = builder.rowCheck(RowCheck(fields: Array(fields[part]), keyCount: keys.count))
      let counted = start == 0 ? member : "-1"
      sql = "godwit_row(\((["\(number)", counted, "s.Z_PK", sql] + arguments[part] + keys).joined(separator: ", ")))"
    }
    return sql
  }
}
