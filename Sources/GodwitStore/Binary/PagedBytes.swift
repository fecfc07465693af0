import GodwitModel

/// A part of a file, of which the pages that were read last stay in memory: at most 4 MiB.
final class PagedBytes: RandomAccessBytes {
  private static let pageBytes = 64 << 10
  private static let slots = 64

  let count: Int
  private let file: ReadableFile
  private let start: Int64
  private let name: String
  private var pages = [(number: Int, bytes: [UInt8])](repeating: (-1, []), count: PagedBytes.slots)

  /// - Parameters:
  ///   - range: The part of the file that is read.
  ///   - name: The name of the file in messages.
  init(path: String, range: Range<Int64>, name: String) throws {
    file = try ReadableFile(path: path, name: name)
    start = range.lowerBound
    count = Int(clamping: range.upperBound - range.lowerBound)
    self.name = name
  }

  private var cutOff: GodwitError {
    GodwitError(
      .dataWrong, "cannot read the binary store '\(name)': the file became shorter while it was read",
      remedy: "make sure nothing writes to it and run the same command")
  }

  private func page(_ number: Int) throws -> [UInt8] {
    let slot = number % Self.slots
    if pages[slot].number == number { return pages[slot].bytes }
    let offset = number * Self.pageBytes
    let size = min(Self.pageBytes, count - offset)
    let bytes = try file.bytes(size, at: start + Int64(offset))
    guard bytes.count == size else { throw cutOff }
    pages[slot] = (number, bytes)
    return bytes
  }

  func copy(_ range: Range<Int>) throws -> [UInt8] {
    let first = range.lowerBound / Self.pageBytes
    if range.upperBound <= (first + 1) * Self.pageBytes {
      let offset = first * Self.pageBytes
      return range.isEmpty ? [] : Array(try page(first)[(range.lowerBound - offset)..<(range.upperBound - offset)])
    }
    let bytes = try file.bytes(range.count, at: start + Int64(range.lowerBound))
    guard bytes.count == range.count else { throw cutOff }
    return bytes
  }

  func number(at place: Int, size: Int) throws -> UInt64 {
    let first = place / Self.pageBytes
    let offset = place - first * Self.pageBytes
    guard offset + size <= Self.pageBytes else {
      return try copy(place..<(place + size)).reduce(0) { $0 << 8 | UInt64($1) }
    }
    let page = try page(first)
    var number: UInt64 = 0
    for byte in offset..<(offset + size) { number = number << 8 | UInt64(page[byte]) }
    return number
  }
}
