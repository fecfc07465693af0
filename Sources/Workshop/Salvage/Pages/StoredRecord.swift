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

  /// Whether the last bytes of a record are binary data, in which zeros are as good as other bytes.
  ///
  /// - Parameters:
  ///   - count: The number of these bytes.
  ///   - parts: The types and lengths of the values.
  static func endsInBytes(_ count: Int, _ parts: [(type: Int64, length: Int)]) -> Bool {
    var rest = count
    for part in parts.reversed() where rest > 0 && part.length > 0 {
      guard part.type >= 12, part.type % 2 == 0 else { return false }
      rest -= part.length
    }
    return true
  }

  /// The types and lengths of a record that was decoded.
  static func parts(_ bytes: [UInt8]) -> [(type: Int64, length: Int)] {
    var place = 0
    let head = Int(Varint.read(bytes, &place, bytes.count) ?? 0)
    var parts: [(type: Int64, length: Int)] = []
    while place < head, let type = Varint.read(bytes, &place, head), let length = length(of: type) {
      parts.append((type, length))
    }
    return parts
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

  /// - Returns: nil for a number that is none.
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
      return .text(text(content, encoding))
    }
  }

  /// The UTF-8 bytes of a text, as SQLite converts it: a surrogate and any unit behind it are one character.
  static func text(_ bytes: ArraySlice<UInt8>, _ encoding: DatabaseHeader.TextEncoding) -> [UInt8] {
    guard encoding != .utf8 else { return Array(bytes) }
    let (high, low) = encoding == .utf16BigEndian ? (0, 1) : (1, 0)
    let units = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).map {
      UInt32(bytes[$0 + high]) << 8 | UInt32(bytes[$0 + low])
    }
    var text: [UInt8] = []
    text.reserveCapacity(units.count)
    var place = 0
    while place < units.count {
      var point = units[place]
      place += 1
      if 0xD800..<0xE000 ~= point, place < units.count {
        point = units[place] & 0x3FF + (point & 0x3F) << 10 + (point & 0x3C0 + 0x40) << 10
        place += 1
      }
      append(point, to: &text)
    }
    return text
  }

  private static func append(_ point: UInt32, to text: inout [UInt8]) {
    func tail(_ shift: UInt32) -> UInt8 { UInt8(0x80 | point >> shift & 0x3F) }
    switch point {
    case ..<0x80: text.append(UInt8(point))
    case ..<0x800: text += [UInt8(0xC0 | point >> 6), tail(0)]
    case ..<0x10000: text += [UInt8(0xE0 | point >> 12), tail(6), tail(0)]
    default: text += [UInt8(0xF0 | point >> 18), tail(12), tail(6), tail(0)]
    }
  }
}
