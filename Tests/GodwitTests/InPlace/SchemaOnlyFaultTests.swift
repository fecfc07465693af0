import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// A migration by definition alone that is stopped, or that a fault ends.
struct SchemaOnlyFaultTests: SchemaOnlyFixture {
  @Test func `by definition alone, a stop leaves the store unchanged and no trace`() throws {
    let fixture = try fixture(Library().with { $0["Book"].attributes.append(AttributeDescription.make("alpha")) })
    for keepsOld in [true, false] {
      let path = try fixture.copyOfSource("stopped-\(keepsOld)")
      let before = try InPlaceContent(path)
      let manager = MigrationManager(fixture.jobInPlace(path, keepsOld: keepsOld))
      #expect(try manager.run(maximumSeconds: 0).outcome == .stopped)
      var stages = 0
      for limit in 0...50 {
        let control = MigrationControl()
        var count = 0
        let summary = try manager.run(control: control) { _ in
          if count == limit { control.stop(reason: "test") }
          count += 1
        }
        guard summary.outcome == .stopped else { break }
        stages += 1
        #expect(try InPlaceContent(path) == before)
        #expect(try !WorkFolder.exists(forDestination: path))
      }
      #expect(stages >= 4)
      #expect(try manager.isFinished())
    }
  }

  enum Accident: CaseIterable, Sendable {
    case error, death, powerCut, powerCutWithNames, powerCutWithSomePages, look

    func fault(at position: Int) -> FaultLayer.Fault {
      switch self {
      case .error: .fail(EIO, at: position)
      case .look: .fail(ReadFaultSweep.code(position), at: position)
      case .death: .death(at: position)
      default: .powerCut(at: position)
      }
    }

    func survival(at position: Int) -> DurableDisk.Survival {
      switch self {
      case .powerCutWithNames: .names
      case .powerCutWithSomePages: .some(seed: UInt64(position))
      default: .syncedOnly
      }
    }
  }

  @Test(arguments: [true, false], Accident.allCases)
  func `by definition alone, a fault at any operation leaves a whole store, and the next run completes`(
    keepsOld: Bool, accident: Accident
  ) throws {
    let fixture = try fixture(Library().with { $0["Book"].attributes.append(AttributeDescription.make("alpha")) })
    // One file that a value names, and one that none does: both stay.
    let support = SupportFolder(ofStoreAt: fixture.sourcePath)
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    let names = ["00000001-1111-2222-3333-444444444444", "00000002-1111-2222-3333-444444444444"]
    for name in names { try Data(name.utf8).write(to: URL(filePath: support.path(of: name))) }
    let connection = try StoreConnection(path: fixture.sourcePath)
    try connection.execute(
      "UPDATE ZAUTHOR SET ZPHOTO = ?1 WHERE Z_PK = 1", [.blob(StoredBinary.external(name: names[0]).bytes)])
    try connection.close()
    let before = try StoreDump(fixture.sourcePath)
    let whole = try fixture.copyOfSource("whole")
    try MigrationManager(fixture.jobInPlace(whole, keepsOld: keepsOld)).run()
    let expected = try StoreDump(whole)
    var struck = 0
    // Each third operation on every change.
    for position in stride(from: 1, through: 2000, by: TestTier.choose(accident == .look ? 61 : 7, long: 1)) {
      let path = try fixture.copyOfSource("fault-\(position)")
      let manager = MigrationManager(fixture.jobInPlace(path, keepsOld: keepsOld))
      let (fault, root) = (accident.fault(at: position), (path as NSString).deletingLastPathComponent)
      let layer = try accident == .look ? FaultLayer(fault, looksAt: root) : FaultLayer(fault, root: root)
      var failure: (any Error)?
      do { try layer.run { _ = try manager.run() } } catch { failure = error }
      guard layer.hasStruck else {
        #expect(failure == nil, "\(String(describing: failure))")
        break
      }
      struck += 1
      if case .fail(let code, _) = fault, let failure { ReadFaultSweep.check(failure, code, "at \(position)") }
      try layer.survive(accident.survival(at: position))
      // A reader rolls back what was begun, as SQLite would.
      let found = try StoreDump(path)
      #expect(found == before || found == expected, "at \(position)")
      try FaultLayer(.none).run { _ = try manager.run() }
      #expect(try StoreDump(path) == expected, "at \(position)")
      #expect(try !WorkFolder.exists(forDestination: path))
      if keepsOld { #expect(try StoreDump(MigrationJob.oldPath(of: path)) == before, "at \(position)") }
      let left = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.file("fault-\(position)"))
      #expect(
        left.sorted()
          == (keepsOld
            ? [".source_SUPPORT", ".source~_SUPPORT", "source.sqlite", "source~.sqlite"]
            : [".source_SUPPORT", "source.sqlite"]),
        "at \(position)")
      #expect(try InPlaceContent(path).files.count == 2, "at \(position)")
      try FileManager.default.removeItem(atPath: fixture.folder.file("fault-\(position)"))
    }
    #expect(struck > TestTier.choose(2, long: 20), "\(struck) operations")
  }
}
