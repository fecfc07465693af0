import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// A job that ran in the first night, and whose source changed on the day after.
final class SecondNight {
  /// A store at the destination, with its external files.
  struct Content: Hashable {
    var rows: [String]
    var files: Set<String> = []

    /// Whether all of another store is there; files of a third may lie beside it.
    func holds(_ other: Content) -> Bool { rows == other.rows && files.isSuperset(of: other.files) }
  }

  let first: FaultJob
  let keepsOld: Bool
  /// The source of the first night.
  let sourceBefore: Data
  /// The result of the first night, and that of an undisturbed run from the changed source.
  private(set) var old = Content(rows: [])
  private(set) var new = Content(rows: [])

  /// - Parameter nights: How many nights the source has changed before; of three, the second is over.
  init(_ kind: FaultJob.Kind = .everyStage, keepsOld: Bool = false, nights: Int = 2) throws {
    first = try FaultJob(kind)
    self.keepsOld = keepsOld
    sourceBefore = try Data(contentsOf: URL(filePath: first.sourcePath))
    for night in 2...nights {
      try MigrationManager(job(first)).run()
      old = try Self.content(first.destinationPath)
      try change(first, "night \(night)", file: 5 + night)
    }
    let fresh = try FaultJob(again: first)
    try MigrationManager(job(fresh)).run()
    new = try Self.content(fresh.destinationPath)
  }

  /// The job on a copy of everything, in a folder of its own.
  func copy() throws -> FaultJob {
    let copy = try FaultJob(again: first)
    try FileManager.default.copyItem(atPath: first.folder.file("out"), toPath: copy.folder.file("out"))
    return copy
  }

  func job(_ made: FaultJob) throws -> MigrationJob {
    var job = try made.job
    job.existingDestination = .replace(keepsOld: keepsOld)
    job.receipt = .besideDestination
    return job
  }

  /// Changes a row of the source, and gives another one a new file in place of its old one.
  func change(_ made: FaultJob, _ text: String, file: Int = 7) throws {
    let connection = try StoreConnection(path: made.sourcePath)
    try connection.execute("UPDATE ZPERSON SET ZNAME = ?1 WHERE Z_PK = 3", [.text(text)])
    let support = SupportFolder(ofStoreAt: made.sourcePath)
    if try support.exists {
      let name = "00000000-0000-0000-3000-\(100_000_000_000 + file)"
      try Data(repeating: UInt8(file), count: 3000).write(to: URL(filePath: support.path(of: name)))
      try connection.execute(
        "UPDATE ZPERSON SET ZPHOTO = ?1 WHERE Z_PK = 1", [.blob(StoredBinary.external(name: name).bytes)])
    }
    try connection.close()
  }

  static func content(_ path: String) throws -> Content {
    guard path.hasSuffix(".sqlite") else {
      let text = try String(contentsOfFile: path, encoding: .utf8)
      return Content(rows: text.split(separator: "\n").map(String.init))
    }
    let content = try InPlaceContent(path)
    return Content(rows: content.dump.lines, files: Set(content.files))
  }

  /// The error of a run that is refused and changes nothing.
  static func refusal(
    _ job: MigrationJob, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> GodwitError {
    let folder = (job.destinationPath as NSString).deletingLastPathComponent
    let before = try FolderContents(folder)
    let error = #expect(throws: GodwitError.self, sourceLocation: sourceLocation) { try MigrationManager(job).run() }
    #expect(error?.code == .cannotCreate, "\(String(describing: error))", sourceLocation: sourceLocation)
    #expect(try FolderContents(folder) == before, "the destination's folder changed", sourceLocation: sourceLocation)
    return try #require(error, sourceLocation: sourceLocation)
  }

  /// Changes a store as an application would.
  static func edit(_ path: String, _ statements: String...) throws {
    let connection = try StoreConnection(path: path)
    for sql in statements { try connection.execute(sql) }
    try connection.close()
  }

  /// The files beside the destination at the end.
  var leftNames: [String] {
    let receipt = URL(filePath: first.destinationPath).lastPathComponent + ".receipt.json"
    var names = first.leftNames.filter { $0 != receipt } + [receipt]
    if keepsOld {
      let kept = URL(filePath: InPlaceSwap.oldPath(of: first.destinationPath)).lastPathComponent
      names += [kept, kept + ".receipt.json"]
      if !old.files.isEmpty { names.append(".people~_SUPPORT") }
    }
    return names.sorted()
  }

  /// Checks that the second night is over: the new store, its receipt, the old store if it is kept, and nothing else.
  func expectDone(_ made: FaultJob, _ place: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let path = made.destinationPath
    let found = try Self.content(path)
    #expect(found == new, "\(place)", sourceLocation: sourceLocation)
    #expect(try made.namesLeft() == leftNames, "\(place)", sourceLocation: sourceLocation)
    let receipt = try Receipt.read(path + ".receipt.json")
    let jobs = try StoreMetadata(readingStoreAt: path).values[MigrationManager.jobsKey]?.array?.compactMap(\.string)
    #expect(receipt.job.digest == jobs?.last, "\(place)", sourceLocation: sourceLocation)
    guard keepsOld else { return }
    #expect(try Self.content(InPlaceSwap.oldPath(of: path)) == old, "\(place)", sourceLocation: sourceLocation)
  }
}
