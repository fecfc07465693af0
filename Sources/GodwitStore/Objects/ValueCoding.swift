import Foundation
package import GodwitModel

/// How a column holds binary data that may be stored externally.
package enum StoredBinary: Sendable, Hashable {
  /// Byte 1, then the data.
  case inline([UInt8])
  /// Byte 2, then the name of a file in the store's support folder, then byte 0.
  case external(name: String)

  /// nil when the bytes are neither; a name is accepted only when it is a UUID, so that it cannot lead elsewhere.
  package init?(_ bytes: [UInt8]) {
    switch bytes.first {
    case 1: self = .inline(Array(bytes.dropFirst()))
    case 2:
      let name = String(decoding: bytes.dropFirst().prefix { $0 != 0 }, as: UTF8.self)
      guard bytes.count == 38, UUID(uuidString: name) != nil else { return nil }
      self = .external(name: name)
    default: return nil
    }
  }

  package var bytes: [UInt8] {
    switch self {
    case .inline(let data): [1] + data
    case .external(let name): [2] + Array(name.utf8) + [0]
    }
  }
}

extension AttributeValue {
  /// Reads the stored value of an attribute.
  ///
  /// Columns of numeric affinity store whole numbers as integers, which are read as the attribute's type. A decimal has
  /// the precision of a double, because stores have no more.
  ///
  /// - Parameter external: Gives the data of an external file by its name; without it such a value is an error.
  /// - Throws: `.dataWrong` when the storage does not fit the type; the errors of `external`.
  package init(
    decoding value: SQLValue, as attribute: AttributeDescription, external: ((String) throws -> [UInt8])? = nil
  ) throws {
    func mismatch() -> GodwitError {
      GodwitError(
        .dataWrong,
        "cannot read attribute '\(attribute.name)': expected \(attribute.type.xcodeName), found \(value.kind)")
    }
    guard attribute.allowsExternalBinaryDataStorage, case .blob(let bytes) = value, attribute.type == .binary else {
      guard let known = AttributeValue(stored: value, as: attribute.type) else { throw mismatch() }
      self = known
      return
    }
    switch StoredBinary(bytes) {
    case .inline(let data): self = .data(data)
    case .external(let name):
      guard let external else {
        throw GodwitError(
          .dataWrong, "cannot read attribute '\(attribute.name)': its data lies in an external file")
      }
      self = .data(try external(name))
    case nil:
      throw GodwitError(
        .dataWrong,
        "cannot read attribute '\(attribute.name)': expected bytes after byte 1, or the name of an external file after byte 2, found \(bytes.first.map { "byte \($0)" } ?? "no byte")",
        remedy: "write NULL in its place in a copy of the store, or export its table with --raw")
    }
  }

  /// Reads a stored value as a type; binary data unchanged. nil when the storage does not fit the type.
  package init?(stored value: SQLValue, as type: AttributeType) {
    switch (type, value) {
    case (_, .null): self = .null
    case (.boolean, .integer(let number)): self = .boolean(number != 0)
    case (.integer16, .integer(let number)), (.integer32, .integer(let number)),
      (.integer64, .integer(let number)):
      self = .integer(number)
    case (.integer16, .real(let number)), (.integer32, .real(let number)), (.integer64, .real(let number)):
      guard let whole = Int64(exactly: number) else { return nil }
      self = .integer(whole)
    case (.decimal, .integer(let number)): self = .decimal(Decimal(number))
    case (.decimal, .real(let number)):
      // A number too large or too small for a decimal becomes NaN, as in Core Data.
      self = .decimal(Decimal(stored: number) ?? .nan)
    // The column's numeric affinity leaves this one text unchanged.
    case (.decimal, .text(let bytes)) where bytes.elementsEqual("NaN".utf8): self = .decimal(.nan)
    case (.double, .real(let number)), (.float, .real(let number)): self = .double(number)
    case (.double, .integer(let number)), (.float, .integer(let number)): self = .double(Double(number))
    case (.date, .real(let seconds)): self = .date(seconds)
    case (.date, .integer(let seconds)): self = .date(Double(seconds))
    case (.string, .text(let bytes)): self = .string(Text(utf8: bytes))
    case (.uri, .text(let bytes)): self = .uri(Text(utf8: bytes))
    case (.uuid, .blob(let bytes)):
      guard bytes.count == 16 else { return nil }
      let uuid = bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
      self = .uuid(UUID(uuid: uuid))
    case (.transformable, .blob(let bytes)), (.binary, .blob(let bytes)): self = .data(bytes)
    default: return nil
    }
  }
}

extension SQLValue {
  /// The name of the storage class in messages.
  package var kind: String {
    switch self {
    case .null: "NULL"
    case .integer: "an integer"
    case .real: "a real number"
    case .text: "a text"
    case .blob: "a blob"
    }
  }

  /// The stored form of an attribute's value. Binary data with external storage allowed goes inline.
  ///
  /// - Throws: `.dataWrong` when the value's type does not fit the attribute's, or is not a number.
  package init(encoding value: AttributeValue, as attribute: AttributeDescription) throws {
    try self.init(
      encoding: value, type: attribute.type, isExternal: attribute.allowsExternalBinaryDataStorage,
      name: attribute.name)
  }

  package init(encoding value: AttributeValue, as attribute: ObjectLayout.Attribute) throws {
    try self.init(
      encoding: value, type: attribute.type, isExternal: attribute.isExternal, name: attribute.description.name)
  }

  /// - Parameters:
  ///   - isExternal: Whether the value may be stored in an external file.
  ///   - name: The attribute's.
  private init(
    encoding value: AttributeValue, type: AttributeType, isExternal: Bool, name: @autoclosure () -> String
  ) throws {
    func mismatch() -> GodwitError {
      GodwitError(.dataWrong, "cannot store attribute '\(name())': expected \(type.xcodeName), found another type")
    }
    func finite(_ number: Double) throws -> SQLValue {
      // SQLite turns a NaN into NULL without a word.
      guard !number.isNaN else { throw mismatch() }
      return .real(number)
    }
    switch (type, value) {
    case (_, .null): self = .null
    case (.boolean, .boolean(let truth)): self = .integer(truth ? 1 : 0)
    case (.boolean, .integer(let number)): self = .integer(number == 0 ? 0 : 1)
    case (.integer16, .integer(let number)), (.integer32, .integer(let number)),
      (.integer64, .integer(let number)):
      guard type.integerRange?.contains(number) == true else { throw mismatch() }
      self = .integer(number)
    case (.decimal, .integer(let number)): self = .integer(number)
    case (.decimal, .decimal(let number)):
      // As Core Data does, observed in a real store.
      if number.isNaN {
        self = .text("NaN")
        return
      }
      self = number.wholeNumber.map { .integer($0) } ?? .real(number.nearestDouble)
    case (.double, .double(let number)), (.float, .double(let number)), (.date, .date(let number)):
      self = try finite(number)
    case (.double, .integer(let number)), (.float, .integer(let number)): self = .real(Double(number))
    case (.double, .decimal(let number)), (.float, .decimal(let number)):
      self = try finite(number.nearestDouble)
    case (.string, .string(let text)), (.uri, .uri(let text)), (.uri, .string(let text)): self = .text(text.utf8)
    case (.uuid, .uuid(let uuid)): self = .blob(withUnsafeBytes(of: uuid.uuid) { Array($0) })
    case (.transformable, .data(let bytes)): self = .blob(bytes)
    case (.binary, .data(let bytes)):
      self = .blob(isExternal ? StoredBinary.inline(bytes).bytes : bytes)
    default: throw mismatch()
    }
  }
}
