import Foundation
import GodwitModel
import GodwitStore

/// A record as a table or an index holds it: types, then values.
enum StoredRecord {
  /// The values of a record; nil unless it decodes whole: the header ends where it says, each type exists, and the values
  /// fill the rest to the byte.
  static func values(_ bytes: [UInt8], _ encoding: DatabaseHeader.TextEncoding) -> [SQLValue]? {
    var place = 0
    guard let head = Varint.read(bytes, &place, bytes.count), head >= Int64(place), head <= Int64(bytes.count) else {
      return nil
    }
    var value = Int(head)
    var values: [SQLValue] = []
    while place < Int(head) {
      guard let type = Varint.read(bytes, &place, Int(head)) else { return nil }
      guard let length = length(of: type), length <= bytes.count - value else { return nil }
      guard let decoded = decode(bytes, at: value, length, type, encoding) else { return nil }
      values.append(decoded)
      value += length
    }
    return value == bytes.count && !values.isEmpty ? values : nil
  }

  /// nil for a type that does not exist.
  static func length(of type: Int64) -> Int? {
    switch type {
    case 0, 8, 9: 0
    case 1, 2, 3, 4: Int(type)
    case 5: 6
    case 6, 7: 8
    case 12...: Int(exactly: (type - 12) / 2)
    default: nil
    }
  }

  /// - Returns: nil for a number that is none, and a text that is not in its encoding.
  static func decode(
    _ bytes: [UInt8], at place: Int, _ length: Int, _ type: Int64, _ encoding: DatabaseHeader.TextEncoding
  ) -> SQLValue? {
    switch type {
    case 0: return .null
    case 8: return .integer(0)
    case 9: return .integer(1)
    case 1...6:
      let bits = 8 * length
      let number = bytes.number(at: place, size: length)
      return .integer(Int64(bitPattern: number << (64 - bits)) >> (64 - Int64(bits)))
    case 7:
      let number = Double(bitPattern: bytes.number(at: place, size: 8))
      // SQLite stores NULL in place of a NaN.
      return number.isNaN ? nil : .real(number)
    default:
      let content = bytes[place..<place + length]
      guard type % 2 == 1 else { return .blob(Array(content)) }
      return text(content, encoding).map { .text($0) }
    }
  }

  private static func text(_ bytes: ArraySlice<UInt8>, _ encoding: DatabaseHeader.TextEncoding) -> [UInt8]? {
    switch encoding {
    case .utf8: Array(bytes)
    case .utf16LittleEndian: String(data: Data(bytes), encoding: .utf16LittleEndian).map { Array($0.utf8) }
    case .utf16BigEndian: String(data: Data(bytes), encoding: .utf16BigEndian).map { Array($0.utf8) }
    }
  }
}
