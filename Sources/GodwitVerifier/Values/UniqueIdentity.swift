import GodwitJob
import GodwitModel
import GodwitStore

/// The values of `unique-by` as bytes that differ when the values do.
enum UniqueIdentity {
  /// - Returns: nil for an object that is one with no other.
  static func bytes(of values: [SQLValue], mergesNil: Bool) -> [UInt8]? {
    var bytes: [UInt8] = []
    for value in values {
      let part: [UInt8]
      switch value {
      case .null:
        guard mergesNil else { return nil }
        part = [0]
      case .integer(let number): part = [1] + Array("\(number)".utf8)
      case .real(let number):
        part = Int64(exactly: number).map { [1] + Array("\($0)".utf8) } ?? [2] + Array("\(number.bitPattern)".utf8)
      case .text(let text): part = [3] + text
      case .blob(let blob): part = [4] + blob
      }
      bytes += Array("\(part.count):".utf8) + part
    }
    return bytes
  }
}

extension ExpectedValues {
  /// The identity of what a mapping gives a source object; nil for an object that is one with no other.
  func identity(of object: StoredObject, in mapping: VerifiedMapping) throws -> [UInt8]? {
    var values: [SQLValue] = []
    for attribute in mapping.uniqueBy {
      guard let value = try expectedValue(of: attribute, in: mapping, from: object) else {
        throw GodwitError(
          .configuration,
          "cannot verify mapping '\(mapping.name)': unique-by '\(attribute.name)' has values that only the run knew")
      }
      values.append(value)
    }
    return UniqueIdentity.bytes(of: values, mergesNil: mapping.mergesNil)
  }
}
