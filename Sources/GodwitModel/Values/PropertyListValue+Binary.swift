// Foundation's writer orders dictionary keys differently in every process; this one sorts them by byte, so
// that equal values give equal bytes. For the format see `BinaryPropertyList`.

extension PropertyListValue {
  /// The reason why bytes cannot be read as a property list, or as an archive in the form of one.
  package struct Malformed: Error, Equatable {
    package var problem: String
    package init(problem: String) { self.problem = problem }
  }

  /// Reads a binary property list; bounded in depth, in the number of values and in their size.
  ///
  /// - Parameter maximumValues: the most values that are read, a shared one counted at each use.
  /// - Throws: `Malformed`.
  package init(binary bytes: [UInt8], maximumValues: Int = 200_000) throws {
    let list = try BinaryPropertyList(bytes)
    var room = BinaryPropertyList<[UInt8]>.Room(values: maximumValues, ofBytes: bytes.count)
    self = try list.value(list.top, &room)
  }

  // MARK: Writing

  /// The value as a binary property list; equal values give equal bytes.
  package var binaryPropertyList: [UInt8] {
    var writer = Writer()
    writer.collect(self)
    return writer.bytes()
  }

  private struct Writer {
    private enum Item {
      case leaf([UInt8])
      case array([Int])
      case dictionary(keys: [Int], values: [Int])
    }
    private var items: [Item] = []

    @discardableResult mutating func collect(_ value: PropertyListValue) -> Int {
      let index = items.count
      items.append(.leaf([]))
      switch value {
      case .array(let values): items[index] = .array(values.map { collect($0) })
      case .dictionary(let values):
        let pairs = values.sorted { $0.key < $1.key }
        let keys = pairs.map { collect(.string($0.key.string)) }
        items[index] = .dictionary(keys: keys, values: pairs.map { collect($0.value) })
      case let leaf: items[index] = .leaf(leaf.leafBytes)
      }
      return index
    }

    func bytes() -> [UInt8] {
      let referenceSize = PropertyListValue.size(of: items.count)
      func references(_ indexes: [Int]) -> [UInt8] {
        indexes.flatMap { PropertyListValue.big(UInt64($0), referenceSize) }
      }
      var bytes = Array("bplist00".utf8)
      var offsets: [Int] = []
      for item in items {
        offsets.append(bytes.count)
        switch item {
        case .leaf(let leaf): bytes += leaf
        case .array(let members): bytes += PropertyListValue.head(0xA0, members.count) + references(members)
        case .dictionary(let keys, let values):
          bytes += PropertyListValue.head(0xD0, keys.count) + references(keys) + references(values)
        }
      }
      let table = bytes.count
      let offsetSize = PropertyListValue.size(of: table)
      bytes += offsets.flatMap { PropertyListValue.big(UInt64($0), offsetSize) }
      bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
      bytes +=
        PropertyListValue.big(UInt64(items.count), 8) + PropertyListValue.big(0, 8)
        + PropertyListValue.big(UInt64(table), 8)
      return bytes
    }
  }

  // MARK: Parts

  /// The bytes of a value that holds no others, as a binary property list has them; empty for an array or dictionary.
  package var leafBytes: [UInt8] {
    switch self {
    case .array, .dictionary: []
    case .string(let text):
      text.utf8.allSatisfy { $0 < 128 }
        ? Self.head(0x50, text.utf8.count) + Array(text.utf8)
        : Self.head(0x60, text.utf16.count) + text.utf16.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    case .integer(let number): Self.bytes(of: number)
    // Eight bytes are signed.
    case .unsigned(let number): [0x14] + Self.big(0, 8) + Self.big(number, 8)
    case .real(let number): [0x23] + Self.big(number.bitPattern, 8)
    case .date(let seconds): [0x33] + Self.big(seconds.bitPattern, 8)
    case .boolean(let truth): [truth ? 9 : 8]
    case .data(let bytes): Self.head(0x40, bytes.count) + bytes
    case .uid(let number): Self.reference(number)
    }
  }

  /// A number in so many bytes, the high one first.
  package static func big(_ value: UInt64, _ size: Int) -> [UInt8] {
    (0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64(size - 1 - $0))) }
  }

  private static func bytes(of number: Int64) -> [UInt8] {
    let bits = UInt64(bitPattern: number)
    return switch number {
    case 0...0xFF: [0x10] + big(bits, 1)
    case 0...0xFFFF: [0x11] + big(bits, 2)
    case 0...0xFFFF_FFFF: [0x12] + big(bits, 4)
    default: [0x13] + big(bits, 8)
    }
  }

  /// A reference to an object of a keyed archive. Apple's are as short as the number allows, and some readers refuse
  /// longer ones.
  package static func reference(_ number: UInt64) -> [UInt8] {
    let size = size(of: Int(clamping: number))
    return [0x80 | UInt8(size - 1)] + big(number, size)
  }

  /// The bytes before so many bytes, characters or references.
  package static func head(_ kind: UInt8, _ count: Int) -> [UInt8] {
    count < 15 ? [kind | UInt8(count)] : [kind | 15] + bytes(of: Int64(count))
  }

  /// The bytes that a number up to this one takes: 1, 2, 4 or 8.
  package static func size(of value: Int) -> Int {
    value < 1 << 8 ? 1 : value < 1 << 16 ? 2 : value < 1 << 32 ? 4 : 8
  }
}
