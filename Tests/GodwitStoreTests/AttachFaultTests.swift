import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Files that are attached to a connection which has another main database.
struct AttachFaultTests {
  /// The ways to attach a store of our own.
  enum Way: CaseIterable {
    case source, shared, unlocked, anotherReader
  }

  private func attach(_ path: String, _ way: Way, _ fault: FaultLayer) throws {
    let connection = try StoreConnection(path: nil)
    defer { try? connection.close() }
    switch way {
    case .source:
      let files = try StoreFiles(path: path)
      try fault.run { try connection.attachSource(files) }
    case .shared: try fault.run { try connection.attachShared(path: path) }
    case .unlocked: try fault.run { try connection.attachUnlocked(path: path, cache: .mebibytes(1)) }
    case .anotherReader:
      try connection.attachSource(try StoreFiles(path: path))
      let reader = try fault.run { try connection.anotherReader(cache: .mebibytes(1)) }
      try reader?.close()
    }
  }

  @Test(
    arguments: Way.allCases,
    [(EACCES, GodwitError.Code.permission), (EIO, .inputOutput), (EMFILE, .inputOutput)])
  func `an attached file that cannot be opened is named, and is not missing`(
    way: Way, failure: (code: Int32, status: GodwitError.Code)
  ) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.sqlite")
    let made = try StoreConnection(path: path, create: true)
    try made.execute("CREATE TABLE t (a)")
    try made.close()
    let whole = FaultLayer(.none, looksAt: folder.path)
    try attach(path, way, whole)
    let opens = whole.operations.indices.filter { whole.operations[$0].kind == .open }
    #expect(!opens.isEmpty)
    for place in opens {
      let fault = FaultLayer(.fail(failure.code, at: place + 1), looksAt: folder.path)
      let error = #expect(throws: GodwitError.self) { try attach(path, way, fault) }
      #expect(fault.hasStruck && error?.code == failure.status, "\(error as Any)")
      #expect(error?.message.contains(path) == true && error?.remedy != nil, "\(error as Any)")
    }
  }

  @Test(arguments: [EIO, EACCES])
  func `a file that could not be opened for writing is a fault of the disk, not of its rights`(code: Int32) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.sqlite")
    func write(_ fault: FaultLayer) throws {
      try fault.run {
        let connection = try StoreConnection(path: path, create: true)
        defer { try? connection.close() }
        try connection.execute("PRAGMA user_version = \(Int.random(in: 2...1_000_000))")
      }
    }
    try StoreConnection(path: path, create: true).execute("PRAGMA user_version = 1")
    let whole = FaultLayer(.none, looksAt: folder.path)
    try write(whole)
    let opening = whole.operations.indices.filter {
      whole.operations[$0].kind == .open && whole.operations[$0].path.hasSuffix("a.sqlite")
    }
    #expect(!opening.isEmpty)
    for place in opening {
      let fault = FaultLayer(.fail(code, at: place + 1), looksAt: folder.path)
      let error = #expect(throws: GodwitError.self) { try write(fault) }
      #expect(fault.hasStruck && error?.code == .inputOutput, "\(error as Any)")
    }
  }
}
