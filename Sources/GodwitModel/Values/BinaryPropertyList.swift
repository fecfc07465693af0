// A binary property list:
//
//   "bplist00" | objects | offset of each object | trailer
//
// The trailer's 32 bytes: 6 unused, size of an offset, size of a reference, then count, top object
// and place of the offsets, 8 bytes each, big-endian. An object starts with a byte of kind and size.

/// Bytes that can be read anywhere.
package protocol RandomAccessBytes {
  var count: Int { get }
  /// - Parameter range: Lies within `count`.
  func copy(_ range: Range<Int>) throws -> [UInt8]
  /// A big-endian number of at most eight bytes, which lie within `count`.
  func number(at start: Int, size: Int) throws -> UInt64
}

extension Array: RandomAccessBytes where Element == UInt8 {
  package func copy(_ range: Range<Int>) -> [UInt8] { Array(self[range]) }

  package func number(at start: Int, size: Int) -> UInt64 {
    var number: UInt64 = 0
    for place in start..<(start + size) { number = number << 8 | UInt64(self[place]) }
    return number
  }
}

/// A binary property list of which one object at a time is read.
///
/// Memory holds what was asked for. Every place and size is checked before it is used.
package struct BinaryPropertyList<Bytes: RandomAccessBytes> {
  package typealias Malformed = PropertyListValue.Malformed

  /// References to objects, as they stand in the list.
  package struct References {
    fileprivate var start: Int
    package fileprivate(set) var count: Int
  }

  package enum Item {
    case value(PropertyListValue)
    case array(References)
    case dictionary(keys: References, values: References)
  }

  /// How much may still be read. Values may be shared many times over, so each visit counts.
  package struct Room {
    package let valuesMaximum: Int
    fileprivate var values: Int
    fileprivate var bytes: Int

    package init(values: Int, ofBytes count: Int) {
      (valuesMaximum, self.values) = (values, values)
      bytes = 1_048_576 + 16 * min(count, 1 << 40)
    }

    fileprivate mutating func takeValue() throws(Malformed) {
      values -= 1
      guard values > 0 else { throw Malformed(problem: "it has more than \(valuesMaximum) values") }
    }

    fileprivate mutating func take(_ count: Int) throws(Malformed) {
      bytes -= count
      guard bytes >= 0 else { throw Malformed(problem: "it repeats its values too often") }
    }
  }

  package let bytes: Bytes
  /// The number of objects.
  package let count: Int
  /// The object that holds all others.
  package let top: Int
  private let offsetSize: Int
  private let referenceSize: Int
  private let table: Int
  /// Whether a text with half of a character is an error; else U+FFFD takes its place.
  private let refusesBrokenText: Bool

  /// - Throws: `Malformed`; what reading throws.
  package init(_ bytes: Bytes, refusesBrokenText: Bool = false) throws {
    (self.bytes, self.refusesBrokenText) = (bytes, refusesBrokenText)
    guard bytes.count >= 40, try bytes.copy(0..<7).elementsEqual("bplist0".utf8) else {
      throw Malformed(problem: "it is not a binary property list, or is cut off")
    }
    let trailer = bytes.count - 32
    offsetSize = Int(try bytes.number(at: trailer + 6, size: 1))
    referenceSize = Int(try bytes.number(at: trailer + 7, size: 1))
    func number(_ offset: Int) throws -> Int {
      guard let number = Int(exactly: try bytes.number(at: trailer + offset, size: 8)), number <= bytes.count else {
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
    return try bytes.number(at: start, size: size)
  }

  private func check(_ start: Int, _ size: Int) throws {
    guard start >= 0, size >= 0, size <= bytes.count, start <= bytes.count - size else {
      throw Malformed(problem: "a value is cut off")
    }
  }

  private func content(_ start: Int, _ size: Int, _ room: inout Room) throws -> [UInt8] {
    try check(start, size)
    try room.take(size)
    return try bytes.copy(start..<(start + size))
  }

  /// The object that a reference leads to.
  ///
  /// - Parameter place: From 0 to below the number of references.
  package func object(_ place: Int, of references: References) throws -> Int {
    guard place >= 0, place < references.count,
      let value = Int(exactly: try unsigned(references.start + place * referenceSize, referenceSize)), value < count
    else { throw Malformed(problem: "a reference leads nowhere") }
    return value
  }

  // MARK: Objects

  /// An object; of an array or a dictionary, what it refers to.
  package func item(_ index: Int, _ room: inout Room) throws -> Item {
    try room.takeValue()
    guard index >= 0, index < count,
      let start = Int(exactly: try unsigned(table + index * offsetSize, offsetSize)), start < table
    else { throw Malformed(problem: "an offset leads nowhere") }
    let marker = Int(try unsigned(start, 1))
    let low = marker & 15
    switch marker >> 4 {
    case 0xA:
      let (size, body) = try length(start, low)
      try check(body, size * referenceSize)
      return .array(References(start: body, count: size))
    case 0xD:
      let (size, body) = try length(start, low)
      try check(body, size * 2 * referenceSize)
      return .dictionary(
        keys: References(start: body, count: size),
        values: References(start: body + size * referenceSize, count: size))
    default: return .value(try plainValue(start, marker, &room))
    }
  }

  private func plainValue(_ start: Int, _ marker: Int, _ room: inout Room) throws -> PropertyListValue {
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
      guard high == 0 else { throw Malformed(problem: "an integer needs more than 64 bits") }
      return Int64(exactly: rest).map { .integer($0) } ?? .unsigned(rest)
    case 0x2 where low == 2:
      return .real(Double(Float(bitPattern: UInt32(truncatingIfNeeded: try unsigned(start + 1, 4)))))
    case 0x2 where low == 3: return .real(Double(bitPattern: try unsigned(start + 1, 8)))
    case 0x3 where low == 3: return .date(Double(bitPattern: try unsigned(start + 1, 8)))
    case 0x8 where low <= 7: return .uid(try unsigned(start + 1, low + 1))
    case 0x4:
      let (size, body) = try length(start, low)
      return .data(try content(body, size, &room))
    case 0x5:
      let (size, body) = try length(start, low)
      let text = try content(body, size, &room)
      return .string(try string(text, whole: refusesBrokenText ? String(validating: text, as: UTF8.self) : nil))
    case 0x6:
      let (size, body) = try length(start, low)
      let text = try content(body, size * 2, &room)
      let units = stride(from: 0, to: text.count, by: 2).map { UInt16(text[$0]) << 8 | UInt16(text[$0 + 1]) }
      guard refusesBrokenText else { return .string(String(decoding: units, as: UTF16.self)) }
      return .string(try string(text, whole: String(validating: units, as: UTF16.self)))
    default: throw Malformed(problem: "a value has the unknown kind \(marker)")
    }
  }

  private func string(_ bytes: [UInt8], whole: String?) throws -> String {
    if let whole { return whole }
    guard !refusesBrokenText else { throw Malformed(problem: "a text has half of a character") }
    return String(decoding: bytes, as: UTF8.self)
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

  // MARK: Values

  /// An object with all that it holds; at most 100 levels.
  package func value(_ index: Int, _ room: inout Room, depth: Int = 0) throws -> PropertyListValue {
    guard depth < 100 else { throw Malformed(problem: "it is nested more than 100 deep") }
    switch try item(index, &room) {
    case .value(let value): return value
    case .array(let members):
      var values: [PropertyListValue] = []
      for place in 0..<members.count {
        values.append(try value(try object(place, of: members), &room, depth: depth + 1))
      }
      return .array(values)
    case .dictionary(let keys, let members):
      var values: [Text: PropertyListValue] = [:]
      for place in 0..<keys.count {
        guard case .string(let key) = try value(try object(place, of: keys), &room, depth: depth + 1) else {
          throw Malformed(problem: "a key is not a string")
        }
        values[key] = try value(try object(place, of: members), &room, depth: depth + 1)
      }
      return .dictionary(values)
    }
  }
}
