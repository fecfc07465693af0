import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Which store a receipt is compared with.
struct ReceiptedStoreChoiceTests {
  /// A finished job in a folder of its own.
  private static func finished() throws -> MigrationFixture {
    let fixture = try MigrationFixture.notes()
    var job = try fixture.job
    job.receipt = .besideDestination
    try MigrationManager(job).run()
    return fixture
  }

  /// Copies a file beside the destination.
  private static func copy(_ path: String, as name: String) throws -> String {
    let copy = path.parentPath + "/" + name
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    return copy
  }

  private static func change(_ store: String) throws {
    let connection = try StoreConnection(path: store)
    try connection.execute("UPDATE ZNOTE SET ZTEXT = 'changed' WHERE Z_PK = 7")
    try connection.close()
  }

  private static func check(_ receipt: String, _ destination: String? = nil) throws -> VerificationReport {
    try ReceiptCheck(receipt: URL(filePath: receipt), destination: destination.map { URL(filePath: $0) }).run()
  }

  @Test func `the store that is named like the receipt file is read, also beside the original`() throws {
    let fixture = try Self.finished()
    let original = fixture.destinationPath
    let copy = try Self.copy(original, as: "copy.sqlite")
    let receipt = try Self.copy(original + Receipt.suffix, as: "copy.sqlite.receipt.json")
    let same = try Self.check(receipt)
    #expect(same.isClean && same.store == copy && same.storeReason == "it is named like the receipt file")
    try Self.change(copy)
    let changed = try Self.check(receipt)
    #expect(!changed.isClean && changed.store == copy, "\(changed)")
    #expect("\(changed)".contains("\nread '\(copy)': it is named like the receipt file\n"))
    // The original is as it was.
    let untouched = try Self.check(original + Receipt.suffix)
    #expect(untouched.isClean && untouched.store == original)
    // A damaged copy is not passed by for the whole original.
    try Data("SQLite format 3\0".utf8).write(to: URL(filePath: copy))
    let error = #expect(throws: GodwitError.self) { _ = try Self.check(receipt) }
    #expect(error?.code == .dataWrong && error?.message.contains(copy) == true, "\(error?.message ?? "")")
  }

  @Test func `without a store that is named like the receipt the one that it names is read, and why is told`() throws {
    let fixture = try Self.finished()
    let original = fixture.destinationPath
    let receipt = try Self.copy(original + Receipt.suffix, as: "gone.sqlite.receipt.json")
    let gone = original.parentPath + "/gone.sqlite"
    let byReceipt = try Self.check(receipt)
    #expect(byReceipt.isClean && byReceipt.store == original)
    #expect(byReceipt.storeReason == "the receipt names it, and there is no '\(gone)'")
    #expect("\(byReceipt)".hasSuffix("\nread '\(original)': \(byReceipt.storeReason ?? "")\nno difference found"))
    // A folder of the name does not count as a store.
    try FileManager.default.createDirectory(atPath: gone, withIntermediateDirectories: true)
    #expect(try Self.check(receipt).store == original)
    let plain = try Self.copy(receipt, as: "proof.json")
    #expect(try Self.check(plain).storeReason == "the receipt names it")
    try FileManager.default.removeItem(atPath: original)
    let error = #expect(throws: GodwitError.self) { _ = try Self.check(receipt) }
    #expect(error?.code == .missingInput && error?.message.contains("'gone.sqlite'") == true)
    #expect(error?.remedy?.contains("--destination") == true)
  }

  @Test func `a store of another job that is named like the receipt is passed by, and that is told`() throws {
    let fixture = try Self.finished()
    let original = fixture.destinationPath
    let other = try Self.copy(fixture.sourcePath, into: original.parentPath, as: "source.sqlite")
    let receipt = try Self.copy(original + Receipt.suffix, as: "source.sqlite.receipt.json")
    let report = try Self.check(receipt)
    #expect(report.isClean && report.store == original)
    #expect(report.storeReason == "the receipt names it, and '\(other)' is not a store of the receipt's job")
    // With nothing else to read it is an error.
    try FileManager.default.removeItem(atPath: original)
    #expect(throws: GodwitError.self) { _ = try Self.check(receipt) }
  }

  @Test func `a store that the caller names is read whatever else is there`() throws {
    let fixture = try Self.finished()
    let original = fixture.destinationPath
    let copy = try Self.copy(original, as: "copy.sqlite")
    try Self.change(copy)
    let report = try Self.check(original + Receipt.suffix, copy)
    #expect(!report.isClean && report.store == copy && report.storeReason == "it was named as the destination")
  }

  private static func copy(_ path: String, into folder: String, as name: String) throws -> String {
    let copy = folder + "/" + name
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    return copy
  }
}
