import Foundation
import GodwitModel
import TestSupport
import Testing

/// Only a definite answer decides.
struct DefiniteTests {
  @Test func `a file that cannot be read is neither missing nor another one`() throws {
    for code in [GodwitError.Code.inputOutput, .permission, .stopped, .interrupted, .terminated] {
      #expect(throws: GodwitError.self) { try Definite.answer { throw GodwitError(code, "not read") } }
    }
    for code in [GodwitError.Code.missingInput, .dataWrong, .cannotCreate] {
      #expect(try Definite.answer { throw GodwitError(code, "not there, or not ours") } == nil)
    }
    #expect(try Definite.answer { 1 } == 1)
  }

  /// Where `try?` stays: it cleans up, writes what may be lost, reads a text that is there already, or takes the side on which
  /// the work is kept.
  private static let harmless = [
    "try? WorkFolder.removeStep(before.path)", "try? EditedStore(job).removeDeadJournal()", "try? Date(text, strategy:",
    "(try? checkOwn(path)) != nil", "let lock = try? FileLock(path:", "try? body(holder)", "try? sortedJSON()",
    "try? JSONDecoder().decode(",
    "try? writeNote(data, to: path, isSynced: false)", "try? task.value()", "guard (try? remove()) != nil",
    "try? counting?.value {", "(try? connection.checkTransaction()) != nil", ".connection.close()",
    "try? connection.close()", "try? Derivation(of:", "try? copy.execute(\"DROP TABLE temp.",
    "try? connection.execute(\"ROLLBACK\")",
    // Compacting: a size that this SQLite cannot tell, and the folder of a call that failed.
    "try? connection.integer(", "try? folder.remove()", "try? old.close()", "try? new.close()",
  ]

  @Test(arguments: ["Godwit", "GodwitStore/Disk", "GodwitEngine/Step", "GodwitEngine/Quarantine"])
  func `no error is passed over where it would decide`(folder: String) throws {
    let root = Checkout.url("Sources/" + folder).path
    let names = try #require(FileManager.default.enumerator(atPath: root)).compactMap { $0 as? String }
    for name in names where name.hasSuffix(".swift") {
      let text = try String(contentsOfFile: root + "/" + name, encoding: .utf8)
      for line in text.split(separator: "\n") where line.contains("try?") {
        #expect(Self.harmless.contains { line.contains($0) }, "\(name): \(line)")
      }
    }
  }
}
