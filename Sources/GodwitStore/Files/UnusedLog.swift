import GodwitModel

/// A log or a journal beside a store that counts for nothing, or whose end does not: SQLite passes over it in silence.
package enum UnusedLog {
  /// A log or a journal that SQLite passes over.
  package struct Finding {
    /// One sentence, with the reason.
    package let text: String
    /// Whether the file is damaged or cut off, so that it may hold changes of the application. False for a file that was
    /// left behind.
    package let mayHoldContent: Bool
  }

  /// One sentence for each of them, with the reason.
  ///
  /// - Throws: as `StoreFiles.init`, when the store or a log cannot be read.
  package static func notes(ofStoreAt path: String) throws -> [String] { try findings(ofStoreAt: path).map(\.text) }

  /// - Throws: as `StoreFiles.init`, when the store or a log cannot be read.
  package static func findings(ofStoreAt path: String) throws -> [Finding] {
    let files = try StoreFiles(path: path)
    return try [("-wal", files.walPath), ("-journal", files.journalPath)].compactMap { suffix, log in
      guard let status = FileStatus(following: log) else {
        guard errno == ENOENT else { throw StoreFiles.failure(errno, reading: path + suffix) }
        return nil
      }
      guard status.isFile else { return nil }
      let file = try ReadableFile(path: log, name: path + suffix)
      guard file.size > 0 else { return nil }
      let name = "'\(path)\(suffix)'"
      guard files.type == .sqlite else {
        return Finding(
          text: "\(name) is not used: \(files.type.nounWithArticle) has no such file", mayHoldContent: false)
      }
      if suffix == "-journal" { return try finding(ofJournal: file, name) }
      let log = try WriteAheadLog(file)
      guard let reason = log.reason else { return nil }
      return Finding(
        text: log.usedFrames == 0
          ? "\(name) is not used: \(reason)" : "\(name) is used up to frame \(log.usedFrames): \(reason)",
        mayHoldContent: !log.isLeftBehind)
    }
  }

  private static func finding(ofJournal file: borrowing ReadableFile, _ name: String) throws -> Finding? {
    guard try file.prefix(1) != [0] else {
      return Finding(
        text: "\(name) is not used: its header is cleared, as at the end of a transaction", mayHoldContent: false)
    }
    guard let rollback = try RollbackJournal(file) else { return nil }
    if rollback.databaseBytes == nil {
      let reason = file.size < 28 ? "it is shorter than a header" : "its header is not valid"
      return Finding(text: "\(name) is not used: \(reason)", mayHoldContent: true)
    }
    guard let lost = rollback.lostRecords else { return nil }
    return Finding(
      text: """
        \(name) is used up to record \(rollback.pages.count): \(lost.counted("record")) of it \(lost == 1 ? "is" : "are") \
        cut off or damaged, and pages of a transaction that never ended stay in the store
        """, mayHoldContent: true)
  }
}

/// A write-ahead log, judged as SQLite does. The format is that of SQLite's page "Database File Format", section 4.
///
///     header    magic (big or little end of the checksums), version, page size, number, salts, checksum: 32 bytes
///     frame     page number, pages of the database after a commit, salts, checksum (24 bytes), the page
///
/// A frame counts if it has the salts of the header and its checksum, which goes on from the frame before, and if a frame
/// that ends a transaction follows or is it. Frames with other salts are left from an earlier use of the file, unless one
/// of this use is among or behind them: each use has a first salt of its own, and a second one that is random.
struct WriteAheadLog {
  /// The frames that count.
  private(set) var usedFrames: Int64 = 0
  /// Why the frames behind do not count; nil if all of the log does, or the rest is of an earlier use.
  private(set) var reason: String?
  /// Whether the frames behind are none that a transaction ended with: of an earlier use, or of one that never ended.
  private(set) var isLeftBehind = false

  init(_ file: borrowing ReadableFile) throws {
    let header = try file.bytes(32, at: 0)
    guard header.count == 32 else {
      reason = "it is shorter than a header"
      return
    }
    let magic = header.number(at: 0, size: 4)
    let pageSize = Int(header.number(at: 8, size: 4))
    guard magic & ~1 == 0x377f_0682, pageSize >= 512, pageSize <= 65536, pageSize & (pageSize - 1) == 0 else {
      reason = "its header is not valid"
      return
    }
    var sum = Checksum(isBigEndian: magic & 1 == 1)
    sum.add(header[0..<24])
    guard sum.isStored(in: header, at: 24) else {
      reason = "its header has a wrong checksum"
      return
    }
    let (frameBytes, salts) = (Int64(pageSize + 24), header[16..<24])
    var number: Int64 = 0
    while reason == nil {
      let frame = try file.bytes(Int(frameBytes), at: 32 + number * frameBytes)
      number += 1
      guard frame.count >= 24 else { break }
      guard frame[8..<16].elementsEqual(salts) else {
        if try Self.isDamaged(frame, salts)
          || Self.hasFrame(with: salts, in: file, from: 32 + number * frameBytes, each: frameBytes)
        {
          reason = "frame \(number) is damaged"
        } else if number == 1 {
          reason = "its frames are of an earlier use of the file"
          isLeftBehind = true
        }
        break
      }
      guard frame.count == Int(frameBytes) else {
        reason = "frame \(number) is cut off"
        break
      }
      sum.add(frame[0..<8])
      sum.add(frame[24...])
      if !sum.isStored(in: frame, at: 16) || frame.number(at: 0, size: 4) == 0 {
        reason = "frame \(number) has a wrong checksum"
      } else if frame.number(at: 4, size: 4) != 0 {
        usedFrames = number
      }
    }
    guard reason == nil, usedFrames < number - 1 || usedFrames == 0 else { return }
    isLeftBehind = true
    reason = number > 1 ? "the transaction of the frames behind never ended" : "it has no whole frame"
  }

  /// Whether a frame with other salts than those of the header is none of an earlier use.
  private static func isDamaged(_ frame: [UInt8], _ salts: ArraySlice<UInt8>) -> Bool {
    frame[8..<12].elementsEqual(salts.prefix(4)) || frame[12..<16].elementsEqual(salts.suffix(4))
      || frame.prefix(24).allSatisfy { $0 == 0 }
  }

  /// Whether a frame of this use of the log follows.
  private static func hasFrame(
    with salts: ArraySlice<UInt8>, in file: borrowing ReadableFile, from start: Int64, each frameBytes: Int64
  ) throws -> Bool {
    for place in stride(from: start, to: Int64(file.size), by: Int(frameBytes)) {
      let head = try file.bytes(16, at: place)
      if head.count == 16, head[8..<16].elementsEqual(salts) { return true }
    }
    return false
  }

  private struct Checksum {
    let isBigEndian: Bool
    private var (first, second): (UInt32, UInt32) = (0, 0)

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    mutating func add(_ bytes: ArraySlice<UInt8>) {
      bytes.withUnsafeBytes { bytes in
        for place in stride(from: 0, to: bytes.count - 7, by: 8) {
          first &+= word(bytes, place) &+ second
          second &+= word(bytes, place + 4) &+ first
        }
      }
    }

    private func word(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> UInt32 {
      let word = bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)
      return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
    }

    func isStored(in bytes: [UInt8], at place: Int) -> Bool {
      bytes.number(at: place, size: 4) == UInt64(first) && bytes.number(at: place + 4, size: 4) == UInt64(second)
    }
  }
}
