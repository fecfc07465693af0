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
  /// The pages that the log has.
  var pages: some Collection<UInt32> { places.keys }
  /// The frames that count.
  private(set) var usedFrames: Int64 = 0
  /// Why frames behind do not count, if they are lost; nil if none are.
  private(set) var problem: String?
  /// The frames of a transaction that never ended; nil if there are none.
  private(set) var unended: ClosedRange<Int64>?

  private let file: SourceFile
  /// The place of the newest copy of each page.
  private var places: [UInt32: Int64] = [:]

  /// - Returns: nil without a log, and for an empty one.
  init?(_ path: String) throws {
    guard let status = FileStatus(following: path), status.isFile, status.size > 0 else { return nil }
    file = try SourceFile(path, named: path)
    guard let header = try file.readable(32, at: 0) else {
      problem = "the disk cannot read its header"
      return
    }
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
    if problem == nil, let frames = try Self.indexedFrames(path, salts: header[16..<24]), frames > usedFrames {
      problem = "it is cut off: \(frames.counted("frame")) were committed by its '-shm'"
    }
  }

  /// The last committed frame by the index of the log, the `-shm` file, whose numbers have the byte order of the machine;
  /// nil without one, and if it is of another use of the log.
  private static func indexedFrames(_ path: String, salts: ArraySlice<UInt8>) throws -> Int64? {
    let index = path.dropLast(4) + "-shm"
    guard FileStatus(following: String(index))?.isFile == true,
      let file = try? SourceFile(String(index), named: String(index)),
      let bytes = try file.readable(136, at: 0), bytes.count == 136,
      // The header comes twice, and is whole if both are equal.
      bytes[0..<48].elementsEqual(bytes[48..<96]), bytes[12] == 1, bytes[32..<40].elementsEqual(salts)
    else { return nil }
    return Int64(UInt32(littleEndian: bytes[16..<20].withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }))
  }

  private var frameBytes: Int64 { Int64(pageSize + 24) }

  private func place(of frame: Int64) -> Int64 { 32 + (frame - 1) * frameBytes }

  private func readFrames(_ start: LogChecksum, salts: [UInt8]) throws {
    var sum = start
    var open: [UInt32: Int64] = [:]
    var number: Int64 = 1
    while place(of: number) < file.size {
      guard let frame = try file.readable(Int(frameBytes), at: place(of: number)) else {
        problem = "the disk cannot read frame \(number)"
        break
      }
      guard salts.starts(with: frame.dropFirst(8).prefix(8)) else {
        problem = frame.count < 24 ? nil : try problem(ofFrame: number, frame, salts)
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
      open[page] = place(of: number) + 24
      number += 1
      let committed = UInt32(frame.number(at: 4, size: 4))
      guard committed != 0 else { continue }
      places.merge(open) { _, new in new }
      open.removeAll(keepingCapacity: true)
      (usedFrames, pageCount) = (number - 1, committed)
    }
    if problem == nil, usedFrames + 1 < number { unended = usedFrames + 1...number - 1 }
  }

  /// Why a frame with other salts is damaged; nil if it is of an earlier use of the file.
  ///
  /// Each use of a log has a first salt of its own, and a second one that is random. So a frame of an earlier use shares
  /// neither with the header, and no frame behind it is of this use.
  private func problem(ofFrame number: Int64, _ frame: [UInt8], _ salts: [UInt8]) throws -> String? {
    let damage = "frame \(number) is damaged"
    if frame[8..<12].elementsEqual(salts[..<4]) || frame[12..<16].elementsEqual(salts[4...]) { return damage }
    if frame.prefix(24).allSatisfy({ $0 == 0 }) { return damage }
    var next = number + 1
    while place(of: next) < file.size {
      let head = try file.readable(16, at: place(of: next))
      if let head, head.count == 16, head[8..<16].elementsEqual(salts) { return damage }
      next += 1
    }
    return number == 1 ? "its frames are of an earlier use of the file" : nil
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
