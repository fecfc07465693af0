import GodwitModel

/// The first 100 bytes of a database, as SQLite's page "Database File Format" describes them.
struct DatabaseHeader: Equatable {
  let pageSize: Int
  let reservedBytes: Int
  /// The pages of the database; nil if the writer did not know the field.
  let pageCount: UInt32?
  let firstTrunk: UInt32
  let freePages: UInt32
  /// Whether the file has a pointer map; nil if the header is gone.
  let hasPointerMap: Bool?
  /// Whether texts are UTF-16, and in which order.
  var encoding: TextEncoding
  let userVersion: Int64
  let applicationID: Int64

  enum TextEncoding: UInt64 {
    case utf8 = 1
    case utf16LittleEndian = 2
    case utf16BigEndian = 3

    var name: String { self == .utf8 ? "UTF-8" : "UTF-16" }
  }

  /// nil if the bytes are not a header.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= 100, bytes.starts(with: Array("SQLite format 3\0".utf8)) else { return nil }
    let raw = Int(bytes.number(at: 16, size: 2))
    let size = raw == 1 ? 65536 : raw
    guard size >= 512, size <= 65536, size & (size - 1) == 0 else { return nil }
    pageSize = size
    reservedBytes = size - Int(bytes[20]) >= 480 ? Int(bytes[20]) : 0
    let count = UInt32(bytes.number(at: 28, size: 4))
    pageCount = bytes[24..<28].elementsEqual(bytes[92..<96]) && count > 0 ? count : nil
    firstTrunk = UInt32(bytes.number(at: 32, size: 4))
    freePages = UInt32(bytes.number(at: 36, size: 4))
    hasPointerMap = bytes.number(at: 52, size: 4) != 0
    encoding = TextEncoding(rawValue: bytes.number(at: 56, size: 4)) ?? .utf8
    userVersion = Int64(Int32(truncatingIfNeeded: bytes.number(at: 60, size: 4)))
    applicationID = Int64(Int32(truncatingIfNeeded: bytes.number(at: 68, size: 4)))
  }

  /// A header of which a byte or two of the magic number, or the page size, are wrong.
  ///
  /// - Parameter pageSize: The size that the pages show.
  init?(_ bytes: [UInt8], damaged pageSize: Int) {
    guard bytes.count >= 100 else { return nil }
    let magic = Array("SQLite format 3\0".utf8)
    // Bytes 21 to 23 are the same in all databases.
    guard zip(bytes, magic).count(where: { $0 == $1 }) >= magic.count - 2, bytes[21..<24].elementsEqual([64, 32, 32])
    else { return nil }
    let size = [UInt8(pageSize >> 8 & 0xFF), UInt8(pageSize >> 16 | pageSize & 0xFF)]
    self.init(magic + size + bytes[18...])
  }

  /// The header of a file that lost it: what Core Data writes.
  init(assumedPageSize size: Int, reservedBytes: Int) {
    (pageSize, self.reservedBytes) = (size, reservedBytes)
    (pageCount, firstTrunk, freePages) = (nil, 0, 0)
    (hasPointerMap, encoding, userVersion, applicationID) = (nil, .utf8, 0, 0)
  }

  /// Whether the header was read.
  var isRead: Bool { hasPointerMap != nil }
}

/// The page size of a file whose header is gone, and the bytes that each page reserves: those with which most bytes are
/// sound pages of tables.
struct PageSizeGuess {
  private(set) var pageSize: Int?
  private(set) var reservedBytes = 0

  private static let sampledBytes: Int64 = 16 << 20
  /// Fewer bytes are sampled where each number of reserved bytes is tried.
  private static let fewerBytes: Int64 = 1 << 20

  init(_ file: SourceFile) throws {
    try search(file, 0...0, Self.sampledBytes)
    if pageSize == nil { try search(file, 1...255, Self.fewerBytes) }
  }

  private mutating func search(_ file: SourceFile, _ reserved: ClosedRange<Int>, _ limit: Int64) throws {
    var best = 0
    for size in [4096, 1024, 2048, 8192, 16384, 32768, 65536, 512] {
      var sound: [Int: Int] = [:]
      for number in 0..<min(limit, file.size) / Int64(size) {
        guard let bytes = try file.readable(size, at: number * Int64(size)), bytes.count == size, bytes[0] == 0x0D
        else {
          continue
        }
        for count in reserved where size - count >= 480 {
          guard let leaf = TableLeaf(bytes, at: 0, usableSize: size - count), leaf.isSound, !leaf.cells.isEmpty else {
            continue
          }
          sound[count, default: 0] += size
        }
      }
      for (count, bytes) in sound where bytes > best { (best, pageSize, reservedBytes) = (bytes, size, count) }
    }
  }
}
