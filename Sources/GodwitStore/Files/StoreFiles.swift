import Foundation
import GodwitModel

/// The files of one store: the database and the files that SQLite may keep beside it.
///
/// It only reads, and it opens the files outside SQLite. Closing such a descriptor drops the POSIX
/// locks that SQLite holds on the same file in this process: use it for source stores, which are
/// read without locks, and never for a store that this process writes.
package struct StoreFiles: Sendable, Hashable {
  /// Absolute, with symbolic links resolved, as SQLite looks for the other files beside the real one.
  package let path: String
  /// The path as the caller gave it, for messages.
  package let givenPath: String
  /// An atomic store is a single file, whose content `StoreConnection.attachSource` converts.
  package private(set) var type = StoreType.sqlite
  /// The size of the store when it was first read.
  package var firstSize: Int64 { knownSize.value }
  private var knownSize = Derived<Int64>(0)
  /// The stores that a merged store is made of, in order; empty for any other store.
  package private(set) var parts: [StoreFiles] = []
  /// The state of the parts when they were merged; nil if that is not known.
  package var mergedStamp: Stamp?

  package var walPath: String { path + "-wal" }
  package var shmPath: String { path + "-shm" }
  package var journalPath: String { path + "-journal" }

  /// Checks that the path leads to a readable file: an atomic store, or a whole SQLite file. Only
  /// `StoreConnection.checkCoreDataTables` can find out whether Core Data made the latter.
  ///
  /// - Throws: `.missingInput` when the file is missing, `.permission` when it cannot be read, `.dataWrong` when it is
  ///   not a regular file, or is empty, of another kind or truncated.
  package init(path given: String) throws {
    givenPath = given
    guard !given.isEmpty, !given.utf8.contains(0) else {
      throw GodwitError(.missingInput, "cannot read store '\(given)': expected a path, found none")
    }
    guard let resolved = realpath(given, nil) else { throw Self.failure(errno, reading: given) }
    defer { free(resolved) }
    path = String(cString: resolved)
    try check()
  }

  /// The files of a store that is made of others: its size, stamp and digest are those of its parts, so that it is
  /// changed when one of them is. It need not exist yet.
  ///
  /// - Parameters:
  ///   - parts: In order.
  ///   - path: Where it is made, in a folder of Godwit's own.
  package init(merging parts: [StoreFiles], at path: String) {
    (self.parts, self.path) = (parts, path)
    givenPath = parts.map(\.givenPath).joined(separator: ", ")
    knownSize.value = parts.reduce(0) { $0 + $1.firstSize }
  }

  static func failure(_ code: Int32, reading path: String) -> GodwitError { .reading(storeAt: path, code) }

  private func wrong(_ problem: String, remedy: String? = nil) -> GodwitError {
    GodwitError(.dataWrong, "cannot read store '\(givenPath)': \(problem)", remedy: remedy)
  }

  private mutating func check() throws {
    // Checked before opening: opening a named pipe would wait for a writer.
    guard let status = FileStatus(following: path) else { throw Self.failure(errno, reading: givenPath) }
    guard status.isFile else {
      let found = status.isFolder ? "a folder" : "a special file"
      throw wrong("expected a file, found \(found)", remedy: "give the path of a store's file")
    }
    let file = try ReadableFile(path: path, name: givenPath)
    guard file.size > 0 else {
      throw wrong(
        "expected a SQLite file, found an empty file", remedy: "copy the store again, or restore it from a backup")
    }
    knownSize.value = Int64(file.size)
    let header = try file.prefix(StoreType.headBytes)
    for log in [walPath, journalPath] { try Self.refuseSpecialFile(log) }
    if try Self.stamp(of: journalPath, headerBytes: 1)?.header.first.map({ $0 != 0 }) ?? false {
      try Self.refuseSuperJournal(beside: path, named: givenPath)
    }
    let content = StoreType.Content(head: header)
    if case .store(let found) = content, found.isAtomic {
      type = found
      return
    }
    if GitLFSPointer.matches(header) {
      throw GitLFSPointer.problem(givenPath, what: "store", .dataWrong)
    }
    if content == .propertyList, let list = try file.propertyList(maximumBytes: StoreMetadata.limitBytes) {
      try StoreType.refuseCustom(StoreMetadata.values(in: list), path: givenPath)
    }
    guard content == .store(.sqlite), header.count >= 100 else {
      throw wrong(
        "expected a SQLite file, found \(content.name)",
        remedy: StoreType.unreadableTypes
          + "; if the first page of a SQLite store is damaged, `godwit salvage STORE -o COPY --model MODEL` reads the others"
      )
    }
    let rawPageSize = Int64(header.number(at: 16, size: 2))
    let pageSize = rawPageSize == 1 ? 65536 : rawPageSize
    guard pageSize >= 512, pageSize <= 65536, pageSize & (pageSize - 1) == 0 else {
      throw wrong("expected a page size of 512 to 65536 bytes, found \(pageSize)", remedy: GodwitError.damageRemedy)
    }
    // The page count holds only when the writer knew of it; a -wal or -journal may add or cut pages.
    let hasValidCount = header[24..<28].elementsEqual(header[92..<96])
    if hasValidCount, try !hasWAL(), try !hasHotJournal() {
      let expected = Int64(header.number(at: 28, size: 4)) * pageSize
      guard file.size >= expected else {
        var error = wrong(
          "expected \(expected) bytes, found \(file.size): the file is truncated",
          remedy: "copy the store again, or " + GodwitError.damageRemedy)
        error.topic = .cutOff
        throw error
      }
    }
  }

  /// The file that a path leads to when its last component is a symbolic link; otherwise, and for a link to nothing,
  /// the path itself.
  package static func resolvingLink(_ path: String) -> String {
    guard FileStatus(named: path)?.kind == .link, let resolved = realpath(path, nil) else {
      return path
    }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Whether there is a `-wal` with content beside the store.
  package func hasWAL() throws -> Bool {
    guard type == .sqlite else { return false }
    return try Self.stamp(of: walPath, headerBytes: 0).map { $0.size > 0 } ?? false
  }

  /// Whether there is a `-journal` beside the store that SQLite would roll back: one whose first byte is set.
  package func hasHotJournal() throws -> Bool {
    guard type == .sqlite else { return false }
    return try Self.stamp(of: journalPath, headerBytes: 1)?.header.first.map { $0 != 0 } ?? false
  }

  /// Whether the journal beside a file would make it empty: the first transaction of the store never ended.
  package static func isUnbegun(_ path: String) throws -> Bool {
    try Definite.answer { try RolledBackFile(path: path, journalPath: path + "-journal") }??.size == 0
  }

  /// Refuses a database whose journal would make SQLite delete another file.
  ///
  /// The journal of a transaction over several databases ends with the name of a file, whatever that is, and SQLite
  /// deletes it after the rollback. Call before SQLite may write to the database, and for every store that is read.
  ///
  /// - Throws: `.dataWrong` (65) for such a journal, and for one that is not an ordinary file.
  static func refuseSuperJournal(beside path: String, named name: String) throws {
    let journal = path + "-journal"
    guard let status = FileStatus(named: journal) else {
      if errno == ENOENT || errno == ENOTDIR { return }
      throw failure(errno, reading: journal)
    }
    guard status.isFile else {
      throw GodwitError(
        .dataWrong, "cannot open '\(name)': its journal '\(journal)' is not a regular file",
        remedy: "find out what made it, and move it away if it does not belong to the store")
    }
    guard try RollbackJournal.namesSuperJournal(ReadableFile(path: journal, name: journal)) else { return }
    throw GodwitError(
      .dataWrong,
      "cannot open '\(name)': its journal '\(journal)' belongs to a transaction over several databases, and names a file that SQLite deletes when it rolls the journal back",
      remedy:
        "have the application that wrote the store open it once, or restore the store from a backup; do not open it with another tool if you do not know where it comes from",
      safe: "nothing was changed")
  }

  /// Refuses a path that can lead to no file, such as a loop of symbolic links. A file that is only missing passes.
  ///
  /// - Throws: `.missingInput` (66).
  package static func refuseImpossible(_ path: String) throws {
    guard FileStatus(following: path) == nil else { return }
    let code = errno
    guard code != ENOENT, GodwitError.codesOfNoFile.contains(code) else { return }
    throw failure(code, reading: path)
  }

  /// Refuses a pipe, a device or a socket, because opening or reading it may wait.
  static func refuseSpecialFile(_ path: String) throws {
    guard let status = try FileStatus.look(following: path), !status.isFile else { return }
    let found = status.isFolder ? "a folder" : "a special file"
    throw GodwitError(.dataWrong, "cannot open '\(path)': expected a file, found \(found)", remedy: "check the path")
  }

  // MARK: Noticing changes

  /// The facts that show whether another process changed a store: size, time and first bytes.
  package struct Stamp: Sendable, Hashable, Codable {
    package struct File: Sendable, Hashable, Codable {
      package var size: Int64
      /// Modification time: whole seconds since 1970 and the rest.
      package var seconds: Int64
      package var nanoseconds: Int64
      /// The first bytes: 100 of the store, 32 of the `-wal`.
      package var header: [UInt8]
    }
    package var store: File
    /// nil without a `-wal`, or if it is empty.
    package var wal: File?
    /// nil without a `-journal`, or if it is empty.
    package var journal: File?

    package init(store: File, wal: File? = nil, journal: File? = nil) {
      (self.store, self.wal, self.journal) = (store, wal, journal)
    }

    /// A stamp that differs where one of the stamps does, with the newest time. Its first bytes are a digest of each.
    init(merging stamps: [Stamp]) {
      let files = stamps.map { [$0.store, $0.wal, $0.journal] }
      let digests = files.map { part in
        let text = part.map { file in
          file.map { "\($0.size) \($0.seconds) \($0.nanoseconds) \($0.header)" } ?? "none"
        }.joined(separator: "\n")
        return Digest.hex(text).prefix(Self.partDigits)
      }
      let newest = files.joined().compactMap(\.self).max { ($0.seconds, $0.nanoseconds) < ($1.seconds, $1.nanoseconds) }
      store = File(
        size: files.joined().reduce(0) { $0 + ($1?.size ?? 0) }, seconds: newest?.seconds ?? 0,
        nanoseconds: newest?.nanoseconds ?? 0, header: Array(digests.joined().utf8))
    }

    fileprivate static let partDigits = 32

    /// The digests of the stamps that it was made of.
    fileprivate var partDigests: [ArraySlice<UInt8>] {
      stride(from: 0, to: store.header.count, by: Self.partDigits).map { place in
        store.header[place..<min(place + Self.partDigits, store.header.count)]
      }
    }
  }

  /// The present state of the files. Costs three look-ups and at most 164 bytes of reading.
  ///
  /// - Throws: `.missingInput` when the store is gone; `.permission` or `.inputOutput` when it cannot be read.
  package func stamp() throws -> Stamp {
    guard parts.isEmpty else { return Stamp(merging: try parts.map { try $0.stamp() }) }
    guard let store = try Self.stamp(of: path, headerBytes: 100) else {
      throw Self.failure(ENOENT, reading: givenPath)
    }
    guard type == .sqlite else { return Stamp(store: store) }
    let wal = try Self.stamp(of: walPath, headerBytes: 32)
    let journal = try Self.stamp(of: journalPath, headerBytes: 32)
    return Stamp(
      store: store, wal: wal.flatMap { $0.size > 0 ? $0 : nil },
      journal: journal.flatMap { $0.size > 0 ? $0 : nil })
  }

  /// The store in a message about a change: of several parts those that differ from an earlier stamp, where that tells.
  package func nameOfChange(since earlier: Stamp?) -> String {
    guard !parts.isEmpty, let known = earlier?.partDigests, let now = try? stamp().partDigests,
      known.count == now.count,
      now.count == parts.count
    else { return givenPath }
    let changed = parts.indices.filter { known[$0].elementsEqual(now[$0]) == false }
    return changed.isEmpty ? givenPath : changed.map { parts[$0].givenPath }.joined(separator: "', '")
  }

  /// nil if the file is missing.
  private static func stamp(of path: String, headerBytes: Int) throws -> Stamp.File? {
    guard let status = FileStatus(following: path) else {
      if errno == ENOENT { return nil }
      throw failure(errno, reading: path)
    }
    let header = headerBytes > 0 && status.isFile ? try ReadableFile(path: path, name: path).prefix(headerBytes) : []
    return Stamp.File(
      size: status.size, seconds: status.modified.seconds, nanoseconds: status.modified.nanoseconds,
      header: header)
  }

  /// Bytes of the store; 0 if the size is unknown.
  package var size: Int64 { parts.isEmpty ? Self.size(ofFile: path) : parts.reduce(0) { $0 + $1.size } }

  package static func size(ofFile path: String) -> Int64 { FileStatus(following: path)?.size ?? 0 }

  /// SHA-256 of the bytes of the store, then of a `-wal` with content, as 64 hex digits.
  ///
  /// Reads all of both files in pieces of 1 MiB.
  ///
  /// - Parameter isWanted: Asked after each piece; false ends it with a `CancellationError`.
  package func contentDigest(while isWanted: () -> Bool = { true }) throws -> String {
    guard parts.isEmpty else {
      let digests = try parts.map { try $0.contentDigest(while: isWanted) }
      return Digest.hex((["godwit-merge-1"] + digests).joined(separator: "\n"))
    }
    var hash = SHA256()
    for file in try hasWAL() ? [path, walPath] : [path] {
      try ReadableFile(path: file, name: file).forEachPiece {
        hash.update(bufferPointer: $0)
        guard isWanted() else { throw CancellationError() }
      }
    }
    return hash.finalize().hex
  }

  // MARK: Addressing

  /// A `file:` URI for SQLite: every byte that is not plain in a path is percent-encoded.
  package static func uri(path given: String, query: String) -> String {
    // The word after two slashes is a host unless it begins with another slash.
    let path = given.hasPrefix("/") ? given : FileManager.default.currentDirectoryPath + "/" + given
    let digits = Array("0123456789ABCDEF")
    var uri = "file://"
    for byte in path.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"):
        uri.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        uri.append("%")
        uri.append(digits[Int(byte >> 4)])
        uri.append(digits[Int(byte & 15)])
      }
    }
    return uri + "?" + query
  }

  /// Copies the store and its files (except the `-shm`, which SQLite makes again) to a new name.
  ///
  /// A symbolic link beside the store is not followed: SQLite would not either.
  func copy(to copy: String) throws {
    for suffix in ["", "-wal", "-journal"] {
      let (source, target) = (path + suffix, copy + suffix)
      unlink(target)
      guard let status = FileStatus(named: source) else {
        if errno == ENOENT { continue }
        throw Self.failure(errno, reading: source)
      }
      guard status.isFile else {
        throw GodwitError(.dataWrong, "cannot copy '\(source)': it is not a regular file")
      }
      var rest = Int64.max
      if suffix == "-journal" {
        // A sparse file of any size may follow the written part.
        let journal = try ReadableFile(path: source, name: source)
        if let rollback = try RollbackJournal(journal) {
          rest = rollback.validBytes
        } else if journal.size > RollbackJournal.copyLimit.bytes {
          throw GodwitError(
            .dataWrong,
            "cannot read '\(givenPath)': expected a journal of at most \(RollbackJournal.copyLimit), found \(journal.size) bytes",
            remedy: "have the application that wrote the store open it once")
        }
      }
      let input = try ExternalFile(source)
      // The copy of a read-only file must take the rollback.
      let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard output >= 0 else { throw Self.uncopied(source, target, errno) }
      defer { close(output) }
      while rest > 0, let piece = try input.next() {
        let isLast = Int64(piece.count) >= rest
        try NewFile.write(isLast ? Array(piece.prefix(Int(rest))) : piece, to: output) {
          Self.uncopied(source, target, $0)
        }
        rest -= Int64(piece.count)
      }
    }
    unlink(copy + "-shm")
  }

  private static func uncopied(_ source: String, _ target: String, _ code: Int32) -> GodwitError {
    GodwitError(
      .inputOutput, "cannot copy '\(source)' to '\(target)'", cause: String(cString: strerror(code)),
      remedy: "free disk space, or name another work folder")
  }
}

extension StoreFiles {
  /// Whether a path leads to a file with bytes, links followed: not a folder, pipe, device or socket.
  package static func isRegularFile(_ path: String) -> Bool { FileStatus(following: path)?.isFile == true }
}
