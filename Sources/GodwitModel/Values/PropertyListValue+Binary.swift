// A binary property list:
//
//   "bplist00" | objects | offset of each object | trailer
//
// The trailer's 32 bytes: 6 unused, size of an offset, size of a reference, then count, top object
// and place of the offsets, 8 bytes each, big-endian. An object starts with a byte of kind and size.
// Foundation's writer orders dictionary keys differently in every process; this one sorts them by byte, so
// that equal values give equal bytes.

extension PropertyListValue {
  /// The reason why bytes cannot be read as a property list.
  package struct Malformed: Error, Equatable {
    package var problem: String
    package init(problem: String) { self.problem = problem }
  }

  /// Reads a binary property list; bounded in depth, in the number of values and in their size.
  ///
  /// - Parameter maximumValues: the most values that are read, a shared one counted at each use.
  /// - Throws: `Malformed`.
  package init(binary bytes: [UInt8], maximumValues: Int = 200_000) throws {
    var reader = try Reader(bytes, maximumValues: maximumValues)
    self = try reader.value(reader.top, depth: 0)
  }

  private struct Reader {
    let bytes: [UInt8]
    let offsetSize: Int
    let referenceSize: Int
    let count: Int
    let top: Int
    let table: Int
    /// Values may be shared many times over, so each visit counts.
    private let maximumValues: Int
    private var valuesLeft: Int
    /// Bytes of text and data that may still be copied, for the same reason.
    private var bytesLeft: Int

    init(_ bytes: [UInt8], maximumValues: Int) throws {
      guard bytes.count >= 40, bytes.starts(with: Array("bplist0".utf8)) else {
        throw Malformed(problem: "it is not a binary property list, or is cut off")
      }
      self.bytes = bytes
      self.maximumValues = maximumValues
      valuesLeft = maximumValues
      bytesLeft = 1_048_576 + 16 * min(bytes.count, 1 << 32)
      let trailer = bytes.count - 32
      offsetSize = Int(bytes[trailer + 6])
      referenceSize = Int(bytes[trailer + 7])
      func number(_ offset: Int) throws -> Int {
        let value = bytes[(trailer + offset)..<(trailer + offset + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard let number = Int(exactly: value), number <= bytes.count else {
          throw Malformed(problem: "its trailer is damaged; the file may be cut off")
        }
        return number
      }
      count = try number(8)
      top = try number(16)
      table = try number(24)
      guard (1...8).contains(offsetSize), (1...8).contains(referenceSize), top < count, table >= 8,
        table <= trailer, count <= (trailer - table) / offsetSize
      else { throw Malformed(problem: "its trailer is damaged; the file may be cut off") }
    }

    private func unsigned(_ start: Int, _ size: Int) throws -> UInt64 {
      guard start >= 0, size >= 0, size <= 8, start <= bytes.count - size else {
        throw Malformed(problem: "a value is cut off")
      }
      return bytes[start..<(start + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }

    private func slice(_ start: Int, _ size: Int) throws -> ArraySlice<UInt8> {
      guard start >= 0, size >= 0, size <= bytes.count, start <= bytes.count - size else {
        throw Malformed(problem: "a value is cut off")
      }
      return bytes[start..<(start + size)]
    }

    /// A slice that will be copied.
    private mutating func content(_ start: Int, _ size: Int) throws -> ArraySlice<UInt8> {
      let content = try slice(start, size)
      bytesLeft -= size
      guard bytesLeft >= 0 else { throw Malformed(problem: "it repeats its values too often") }
      return content
    }

    private func reference(_ start: Int, _ index: Int) throws -> Int {
      guard let value = Int(exactly: try unsigned(start + index * referenceSize, referenceSize)), value < count
      else { throw Malformed(problem: "a reference leads nowhere") }
      return value
    }

    mutating func value(_ index: Int, depth: Int) throws -> PropertyListValue {
      guard depth < 100 else { throw Malformed(problem: "it is nested more than 100 deep") }
      valuesLeft -= 1
      guard valuesLeft > 0 else { throw Malformed(problem: "it has more than \(maximumValues) values") }
      guard let start = Int(exactly: try unsigned(table + index * offsetSize, offsetSize)), start < table else {
        throw Malformed(problem: "an offset leads nowhere")
      }
      let marker = Int(try unsigned(start, 1))
      let low = marker & 15
      switch marker >> 4 {
      case 0x0 where low == 8: return .boolean(false)
      case 0x0 where low == 9: return .boolean(true)
      case 0x1 where low <= 3:
        // One, two and four bytes are unsigned, eight are signed.
        return .integer(Int64(bitPattern: try unsigned(start + 1, 1 << low)))
      case 0x1 where low == 4:
        let high = try unsigned(start + 1, 8)
        let rest = try unsigned(start + 9, 8)
        guard high == 0, let number = Int64(exactly: rest) else {
          throw Malformed(problem: "an integer needs more than 64 bits")
        }
        return .integer(number)
      case 0x2 where low == 2:
        return .real(Double(Float(bitPattern: UInt32(truncatingIfNeeded: try unsigned(start + 1, 4)))))
      case 0x2 where low == 3: return .real(Double(bitPattern: try unsigned(start + 1, 8)))
      case 0x3 where low == 3: return .date(Double(bitPattern: try unsigned(start + 1, 8)))
      case 0x8 where low <= 7: return .uid(try unsigned(start + 1, low + 1))
      case 0x4:
        let (size, body) = try length(start, low)
        return .data(Array(try content(body, size)))
      case 0x5:
        let (size, body) = try length(start, low)
        return .string(String(decoding: try content(body, size), as: UTF8.self))
      case 0x6:
        let (size, body) = try length(start, low)
        let units = try content(body, size * 2)
        return .string(
          String(
            decoding: stride(from: units.startIndex, to: units.endIndex, by: 2).map {
              UInt16(units[$0]) << 8 | UInt16(units[$0 + 1])
            }, as: UTF16.self))
      case 0xA:
        let (size, body) = try length(start, low)
        _ = try slice(body, size * referenceSize)
        var values: [PropertyListValue] = []
        for place in 0..<size { values.append(try value(try reference(body, place), depth: depth + 1)) }
        return .array(values)
      case 0xD:
        let (size, body) = try length(start, low)
        _ = try slice(body, size * 2 * referenceSize)
        var values: [String: PropertyListValue] = [:]
        for place in 0..<size {
          guard case .string(let key) = try value(try reference(body, place), depth: depth + 1) else {
            throw Malformed(problem: "a key is not a string")
          }
          values[key] = try value(try reference(body, size + place), depth: depth + 1)
        }
        return .dictionary(values)
      default: throw Malformed(problem: "a value has the unknown kind \(marker)")
      }
    }

    /// The length of a value and where its body starts.
    private func length(_ start: Int, _ low: Int) throws -> (Int, Int) {
      guard low == 15 else { return (low, start + 1) }
      let marker = Int(try unsigned(start + 1, 1))
      guard marker >> 4 == 1, marker & 15 <= 3 else { throw Malformed(problem: "a length is damaged") }
      let size = 1 << (marker & 15)
      guard let length = Int(exactly: try unsigned(start + 2, size)), length <= bytes.count else {
        throw Malformed(problem: "a length is damaged")
      }
      return (length, start + 2 + size)
    }
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
        let pairs = values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        let keys = pairs.map { collect(.string($0.key)) }
        items[index] = .dictionary(keys: keys, values: pairs.map { collect($0.value) })
      case .string(let text):
        items[index] = .leaf(
          text.utf8.allSatisfy { $0 < 128 }
            ? Self.head(0x50, text.utf8.count) + Array(text.utf8)
            : Self.head(0x60, text.utf16.count)
              + text.utf16.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] })
      case .integer(let number): items[index] = .leaf(Self.integer(number))
      case .real(let number): items[index] = .leaf([0x23] + Self.big(number.bitPattern, 8))
      case .date(let seconds): items[index] = .leaf([0x33] + Self.big(seconds.bitPattern, 8))
      case .boolean(let truth): items[index] = .leaf([truth ? 9 : 8])
      case .data(let bytes): items[index] = .leaf(Self.head(0x40, bytes.count) + bytes)
      case .uid(let number): items[index] = .leaf([0x87] + Self.big(number, 8))
      }
      return index
    }

    private static func big(_ value: UInt64, _ size: Int) -> [UInt8] {
      (0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64(size - 1 - $0))) }
    }

    private static func integer(_ number: Int64) -> [UInt8] {
      let bits = UInt64(bitPattern: number)
      return switch number {
      case 0...0xFF: [0x10] + big(bits, 1)
      case 0...0xFFFF: [0x11] + big(bits, 2)
      case 0...0xFFFF_FFFF: [0x12] + big(bits, 4)
      default: [0x13] + big(bits, 8)
      }
    }

    private static func head(_ kind: UInt8, _ count: Int) -> [UInt8] {
      count < 15 ? [kind | UInt8(count)] : [kind | 15] + integer(Int64(count))
    }

    private static func size(of value: Int) -> Int {
      value < 1 << 8 ? 1 : value < 1 << 16 ? 2 : value < 1 << 32 ? 4 : 8
    }

    func bytes() -> [UInt8] {
      let referenceSize = Self.size(of: items.count)
      func references(_ indexes: [Int]) -> [UInt8] { indexes.flatMap { Self.big(UInt64($0), referenceSize) } }
      var bytes = Array("bplist00".utf8)
      var offsets: [Int] = []
      for item in items {
        offsets.append(bytes.count)
        switch item {
        case .leaf(let leaf): bytes += leaf
        case .array(let members): bytes += Self.head(0xA0, members.count) + references(members)
        case .dictionary(let keys, let values):
          bytes += Self.head(0xD0, keys.count) + references(keys) + references(values)
        }
      }
      let table = bytes.count
      let offsetSize = Self.size(of: table)
      bytes += offsets.flatMap { Self.big(UInt64($0), offsetSize) }
      bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
      bytes += Self.big(UInt64(items.count), 8) + Self.big(0, 8) + Self.big(UInt64(table), 8)
      return bytes
    }
  }
}
