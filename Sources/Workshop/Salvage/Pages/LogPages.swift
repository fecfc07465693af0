import GodwitModel
import GodwitStore

/// The pages of a write-ahead log, up to its last sound commit.
///
/// A frame counts if it has the salts of the header and a checksum that goes on from the frame before, and if a frame
/// that ends a transaction follows or is it. `WriteAheadLog` describes the format.
final class LogPages {
  private(set) var pageSize = 0
  /// The pages of the database after the last sound commit.
  private(set) var pageCount: UInt32 = 0
  /// How many pages the log has, each counted once.
  var distinctPages: Int { places.count }
  /// The frames that count.
  private(set) var usedFrames: Int64 = 0
  /// Why frames behind do not count, if they are lost; nil if none are.
  private(set) var problem: String?

  private let file: SourceFile
  /// The place of the newest copy of each page.
  private var places: [UInt32: Int64] = [:]

  /// - Returns: nil without a log, and for an empty one.
  init?(_ path: String) throws {
    guard let status = FileStatus(following: path), status.isFile, status.size > 0 else { return nil }
    file = try SourceFile(path, named: path)
    let header = try file.bytes(32, at: 0) ?? []
    guard header.count == 32 else {
      problem = "it is shorter than a header"
      return
    }
    let magic = header.number(at: 0, size: 4)
    let size = Int(header.number(at: 8, size: 4))
    guard magic & ~1 == 0x377f_0682, size >= 512, size <= 65536, size & (size - 1) == 0 else {
      problem = "its header is not valid"
      return
    }
    var sum = LogChecksum(isBigEndian: magic & 1 == 1)
    sum.add(header[0..<24])
    guard sum.isStored(in: header, at: 24) else {
      problem = "its header has a wrong checksum"
      return
    }
    pageSize = size
    try readFrames(sum, salts: Array(header[16..<24]))
  }

  private func readFrames(_ start: LogChecksum, salts: [UInt8]) throws {
    var sum = start
    var open: [UInt32: Int64] = [:]
    var number: Int64 = 0
    let frameBytes = Int64(pageSize + 24)
    while let frame = try file.bytes(Int(frameBytes), at: 32 + number * frameBytes) {
      number += 1
      guard frame.count >= 24, frame[8..<16].elementsEqual(salts) else {
        // Frames with other salts are of an earlier use of the file.
        if number == 1 { problem = "its frames are of an earlier use of the file" }
        break
      }
      guard frame.count == Int(frameBytes) else {
        problem = "frame \(number) is cut off"
        break
      }
      sum.add(frame[0..<8])
      sum.add(frame[24...])
      let page = UInt32(frame.number(at: 0, size: 4))
      guard sum.isStored(in: frame, at: 16), page != 0 else {
        problem = "frame \(number) has a wrong checksum"
        break
      }
      open[page] = 32 + (number - 1) * frameBytes + 24
      let committed = UInt32(frame.number(at: 4, size: 4))
      guard committed != 0 else { continue }
      places.merge(open) { _, new in new }
      open.removeAll(keepingCapacity: true)
      (usedFrames, pageCount) = (number, committed)
    }
  }

  /// The page as the log has it; nil if it has none.
  func page(_ number: UInt32) throws -> [UInt8]? {
    guard let place = places[number] else { return nil }
    let bytes = try file.bytes(pageSize, at: place)
    return bytes?.count == pageSize ? bytes : nil
  }
}

/// The checksum of a log, which goes on from frame to frame.
struct LogChecksum {
  let isBigEndian: Bool
  private var (first, second): (UInt32, UInt32) = (0, 0)

  init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

  mutating func add(_ bytes: ArraySlice<UInt8>) {
    let isBigEndian = isBigEndian
    var (first, second) = (first, second)
    bytes.withUnsafeBytes { bytes in
      func word(_ place: Int) -> UInt32 {
        let word = bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)
        return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
      }
      for place in stride(from: 0, to: bytes.count - 7, by: 8) {
        first &+= word(place) &+ second
        second &+= word(place + 4) &+ first
      }
    }
    (self.first, self.second) = (first, second)
  }

  func isStored(in bytes: [UInt8], at place: Int) -> Bool {
    bytes.number(at: place, size: 4) == UInt64(first) && bytes.number(at: place + 4, size: 4) == UInt64(second)
  }
}
