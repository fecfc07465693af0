import Foundation
import GodwitStore
import TestSupport
import Testing

@testable import GodwitCLI

/// The verb `salvage`, and the page "Damaged stores".
struct SalvageCommandTests {
  private static let people = PeoplizerStores.file("Peoplizer.xcdatamodeld")

  private static func run(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: arguments, in: session)
    return (status, session.output.text, session.diagnostics.text)
  }

  /// A store of which two pages with rows are zeros.
  private static func damaged(in folder: TemporaryFolder) throws -> String {
    let store = folder.file("people.sqlite")
    #expect(run("make-store", people + "#Peoplizer 4", store, "--rows", "600", "--seed", "1").status == 0)
    var bytes = Array(try Data(contentsOf: URL(filePath: store)))
    for page in [10, 13] { bytes.replaceSubrange((page - 1) * 4096..<page * 4096, with: repeatElement(0, count: 4096)) }
    try Data(bytes).write(to: URL(filePath: store))
    return store
  }

  @Test func `the commands of DamagedStores print what the page shows`() throws {
    let folder = try TemporaryFolder("godwit-page")
    _ = try Self.damaged(in: folder)
    try FileManager.default.copyItem(atPath: Self.people, toPath: folder.file("People.xcdatamodeld"))
    let page = try DocumentationPage("DamagedStores")
    let result = try GettingStartedTests.run(try #require(page.blocks("sh").first), in: folder)
    #expect(result.status == 3, "\(result)")
    #expect(result.output == (try #require(page.blocks("text").first)) + "\n", "\(result.output)")
  }

  @Test func `the copy is a store that a job migrates, and the status says whether something is lost`() throws {
    let folder = try TemporaryFolder()
    let store = try Self.damaged(in: folder)
    let copy = folder.file("copy.sqlite")
    #expect(Self.run("salvage", store, "-o", copy, "--model", Self.people).status == 3)
    #expect(Self.run("salvage", store, "-o", copy, "--model", Self.people).status == 73)
    // A copy is sound.
    let again = Self.run("salvage", copy, "-o", folder.file("again.sqlite"), "--model", Self.people)
    #expect(again.status == 0 && again.output.contains("nothing was lost"), "\(again)")
    let job = folder.file("job.yaml")
    let manifest = "godwit: 1\nsource: copy.sqlite\ndestination: out.sqlite\nmodels: \(Self.people)\non-invalid: keep\n"
    try Data(manifest.utf8).write(to: URL(filePath: job))
    #expect(Self.run("run", job, "--quiet").status == 0)
    #expect(Self.run("verify", job).status == 0)
  }

  @Test(arguments: ["run", "plan", "audit", "export"])
  func `a verb that meets damage names the command to type`(verb: String) throws {
    let folder = try TemporaryFolder()
    let store = try Self.damaged(in: folder)
    let job = folder.file("job.yaml")
    let manifest = "godwit: 1\nsource: people.sqlite\ndestination: out.sqlite\nmodels: \(Self.people)\n"
    try Data(manifest.utf8).write(to: URL(filePath: job))
    let result =
      verb == "export"
      ? Self.run(verb, store, "--all", "--format", "sqlite", "-o", folder.file("x.db"), "--model", Self.people)
      : Self.run(verb, job)
    #expect(result.status == 65, "\(result)")
    #expect(result.diagnostics.contains("`godwit salvage STORE -o COPY --model MODEL`"), "\(result.diagnostics)")
  }
}
