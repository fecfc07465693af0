import Foundation
import TestSupport
import Testing

@testable import GodwitCLI

struct `Making stores from the command line` {
  private static let model = PeoplizerStores.file("Peoplizer.xcdatamodeld") + "#Peoplizer 4"

  private func run(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: ["make-store"] + arguments, in: session)
    return (status, session.output.text, session.diagnostics.text)
  }

  @Test func `make-store makes the same store twice, and inspect reads it`() throws {
    let folder = try TemporaryFolder()
    let result = run(Self.model, folder.file("a.sqlite"), "--rows", "100", "--seed", "5")
    #expect(result.status == 0, "\(result.diagnostics)")
    #expect(result.output == "\(folder.file("a.sqlite")): 100 objects of 'Peoplizer 4', seed 5\n")
    let inspection = try FileInspection(of: folder.file("a.sqlite"), models: [Self.model])
    #expect(inspection.description.contains("Peoplizer 4"))
    #expect(run(Self.model, folder.file("b.sqlite"), "--rows", "100", "--seed", "5").status == 0)
    #expect(try StoreDump(folder.file("a.sqlite")) == (try StoreDump(folder.file("b.sqlite"))))
  }

  @Test func `make-store has an exit status for every kind of bad input`() throws {
    let folder = try TemporaryFolder()
    let taken = folder.file("taken.sqlite")
    try Data("mine".utf8).write(to: URL(filePath: taken))
    #expect(run(Self.model, taken, "--rows", "1").status == 73)
    #expect(try String(contentsOfFile: taken, encoding: .utf8) == "mine")
    #expect(run(Self.model, folder.file("no/such/out.sqlite"), "--rows", "1").status == 73)
    #expect(run(Self.model, taken + "/out.sqlite", "--rows", "1").status == 73)
    #expect(run(Self.model, folder.path, "--rows", "1").status == 73)
    #expect(run(folder.file("No.xcdatamodel"), folder.file("out.sqlite"), "--rows", "1").status == 66)
    #expect(run(Self.model, folder.file("out.sqlite"), "--rows", "-1").status == 64)
    #expect(run(Self.model, folder.file("out.sqlite"), "--rows", "many").status == 64)
    #expect(run(Self.model, folder.file("out.sqlite"), "--rows", "1000000001").status == 64)
    #expect(run(Self.model, folder.file("out.sqlite")).status == 64)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["taken.sqlite"])
  }
}
