/// The facts about an attribute type that do not need code: one row a type. Code that does more for a type asks for its
/// row, or says what it does with values of each class.
extension AttributeType {
  /// A row of the table.
  package struct Facts: Sendable {
    /// The spelling in Xcode's model files.
    let xcodeName: String
    /// The type in a message: `an integer`.
    let phrase: String
    /// The types whose values its values compare with.
    let expressionClass: ExpressionClass
    /// The column that Core Data declares for it; nil for a type that has none.
    package let column: Column?
    /// The storage classes that its values may have in a SQLite store, besides NULL.
    package let storageClasses: [StorageClass]
    /// The `type` of the element in an XML store, first, and other names that are read as it; empty for a type that is
    /// not stored. `int16`, `int32`, `bool`, `date`, `string` and `binary` were seen in real stores; the others follow
    /// their pattern.
    package let xmlNames: [String]
    /// The bytes of each value; nil for values of any length.
    package var byteCount: Int?
    /// A literal of a value in Swift, for messages; nil for a type that no literal fits.
    package let literal: String?
  }

  /// A column of a SQLite store.
  package struct Column: Sendable {
    package let declaredType: String
    /// Core Data declares the columns of a table by group.
    package let group: Int

    init(_ declaredType: String, _ group: Int) { (self.declaredType, self.group) = (declaredType, group) }
  }

  /// A storage class of SQLite, as `typeof` names it.
  package enum StorageClass: String, Sendable, CaseIterable { case integer, real, text, blob }

  /// Its row of the table.
  package var facts: Facts { Self.table[self] ?? Self.valueless("Undefined", .any) }

  /// Whether a store has values of it.
  package var isStored: Bool { facts.column != nil }

  private static let table: [AttributeType: Facts] = [
    .undefined: valueless("Undefined", .any),
    .integer16: integer("Integer 16", "an integer of 16 bits", "int16"),
    .integer32: integer("Integer 32", "an integer of 32 bits", "int32"),
    .integer64: integer("Integer 64", "an integer", "int64"),
    .decimal: real("Decimal", "a number", .number, Column("DECIMAL", 4), "decimal", literal: "1"),
    .double: real("Double", "a number", .number, Column("FLOAT", 3), "double", literal: "1.5"),
    .float: real("Float", "a number", .number, Column("FLOAT", 3), "float", literal: "1.5"),
    .string: text("String", "text", Column("VARCHAR", 5), ["string"], literal: "\"text\""),
    .boolean: integer("Boolean", "a boolean", "bool", literal: "true"),
    .date: real(
      "Date", "a date", .date, Column("TIMESTAMP", 3), "date", literal: "Date(timeIntervalSinceReferenceDate: 0)"),
    .binary: bytes("Binary", "bytes", .data, Column("BLOB", 9), ["binary"], literal: "Data([1, 2, 3])"),
    .uuid: bytes(
      "UUID", "a UUID of 16 bytes", .uuid, Column("BLOB", 7), ["uuid", "string"], byteCount: 16, literal: "UUID()"),
    .uri: text(
      "URI", "a URI", Column("VARCHAR", 6), ["uri", "string"], literal: "URL(string: \"https://example.com\")"),
    .transformable: bytes(
      "Transformable", "bytes", .transformable, Column("BLOB", 8), ["transformable", "binary"],
      literal: "Data([1, 2, 3])"),
    .objectID: valueless("ObjectID", .objectID),
    .composite: valueless("Composite", .composite),
  ]

  // MARK: Rows of a kind

  private static func integer(_ name: String, _ phrase: String, _ xml: String, literal: String = "1") -> Facts {
    Facts(
      xcodeName: name, phrase: phrase, expressionClass: .number, column: Column("INTEGER", 1),
      storageClasses: [.integer], xmlNames: [xml], literal: literal)
  }

  private static func real(
    _ name: String, _ phrase: String, _ values: ExpressionClass, _ column: Column, _ xml: String, literal: String
  ) -> Facts {
    Facts(
      xcodeName: name, phrase: phrase, expressionClass: values, column: column, storageClasses: [.integer, .real],
      xmlNames: [xml], literal: literal)
  }

  private static func text(
    _ name: String, _ phrase: String, _ column: Column, _ xml: [String], literal: String
  ) -> Facts {
    Facts(
      xcodeName: name, phrase: phrase, expressionClass: .string, column: column, storageClasses: [.text],
      xmlNames: xml, literal: literal)
  }

  private static func bytes(
    _ name: String, _ phrase: String, _ values: ExpressionClass, _ column: Column, _ xml: [String],
    byteCount: Int? = nil, literal: String
  ) -> Facts {
    Facts(
      xcodeName: name, phrase: phrase, expressionClass: values, column: column, storageClasses: [.blob],
      xmlNames: xml, byteCount: byteCount, literal: literal)
  }

  private static func valueless(_ name: String, _ values: ExpressionClass) -> Facts {
    Facts(
      xcodeName: name, phrase: "a value", expressionClass: values, column: nil,
      storageClasses: StorageClass.allCases, xmlNames: [], literal: nil)
  }
}
