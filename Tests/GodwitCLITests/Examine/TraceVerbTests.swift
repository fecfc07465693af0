import Foundation
import GodwitCLI
import GodwitModel
import TestSupport
import Testing

/// A job of `jobs/peoplizer`, run into a folder of its own.
private struct FinishedJob {
  let folder: TemporaryFolder
  let manifest: String
  var destination: String { folder.file("made.sqlite") }

  init(_ name: String) throws {
    folder = try TemporaryFolder()
    manifest = PeoplizerStores.file(name)
    let result = run("run")
    #expect(result.status == 0, "\(result.diagnostics)")
  }

  func run(_ verb: String, _ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(
      arguments: [verb, manifest] + arguments + ["--destination", destination], in: session)
    return (status, session.output.text, session.diagnostics.text)
  }
}

struct TraceVerbTests {
  @Test func `an object of several people shows all of them, its chunk and its expressions`() throws {
    let job = try FinishedJob("v2-to-v3.yaml")
    let result = job.run("trace", "Address/p1")
    #expect(result.status == 0 && result.diagnostics.isEmpty, "\(result.diagnostics)")
    let store = "x-coredata://0B0E1E5A-0000-4000-8000-000000000002"
    #expect(
      result.output == """
        \(store)/Address/p1, in the destination

        step 1, 'Peoplizer 2' to 'Peoplizer 3': mapping 'PersonToAddress', pass 1, chunk 1 of 14 (Person up to p15)
          from \(store)/Person/p1
            age     18
            name    "Anna"
            state   "California"
            street  "1 Infinite Loop"
           and \(store)/Person/p32, which has the same values of unique-by
           and \(store)/Person/p106, which has the same values of unique-by
           and \(store)/Person/p1137, which has the same values of unique-by
          to   \(store)/Address/p1
            people  Person/p1, Person/p32, Person/p106, Person/p1137
            state   "California"                              = $source.state
            street  "1 Infinite Loop"                         = $source.street

        """)
  }

  @Test func `a source object shows what became of it, and which filter left it out`() throws {
    let job = try FinishedJob("v3-to-v4.yaml")
    let result = job.run("trace", "Person/p2")
    #expect(result.status == 0, "\(result.diagnostics)")
    #expect(result.output.contains("/Person/p2, in the source\n"))
    #expect(result.output.contains("mapping 'PersonToChild', pass 2"))
    #expect(result.output.contains("mapping 'PersonToAdult' does not take it: its filter is age >= 18\n"))
  }

  @Test func `a job of several steps is traced through the stores between them, and leaves nothing behind`() throws {
    let job = try FinishedJob("v1-to-v5.yaml")
    let before = try FileManager.default.contentsOfDirectory(atPath: job.folder.path)
    let json = try JSONValue(parsing: job.run("trace", "Person/p1", "--side", "source", "--format", "json").output)
    let steps = json["associations"]?.array ?? []
    #expect(steps.compactMap { $0["step"] } == [.integer(1), .integer(2), .integer(3), .integer(4)])
    #expect(steps.last?["destinationURI"]?.string?.hasPrefix("x-coredata://") == true)
    let end = try #require(steps.last?["destinationURI"]?.string)
    let back = try JSONValue(parsing: job.run("trace", end, "--side", "destination", "--format", "json").output)
    #expect(back["associations"]?.array?.last?["source"]?["uri"]?.string?.hasSuffix("/Person/p1") == true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: job.folder.path) == before)
  }

  @Test func `what cannot be traced is refused with a remedy`() throws {
    let job = try FinishedJob("v2-to-v3.yaml")
    for (uri, status, text) in [
      ("Address", 64, "expected an object's URI"), ("Address/p", 64, "expected an object's URI"),
      ("x-coredata://00000000-0000-4000-8000-000000000000/Address/p1", 64, "names another store"),
      ("Address/p99999", 66, "there is no such object"), ("Nobody/p1", 66, "there is no such object"),
    ] {
      let result = job.run("trace", uri)
      #expect(result.status == status && result.diagnostics.contains(text), "\(uri): \(result.diagnostics)")
      #expect(result.diagnostics.contains("  try  ") && result.output.isEmpty)
    }
    for (setting, text) in [
      ("destination.existing=append", "it appends to a store")
    ] {
      let result = job.run("trace", "Address/p1", "--set", setting)
      #expect(result.status == 64 && result.diagnostics.contains(text), "\(setting): \(result.diagnostics)")
    }
    let other = job.run("trace", "Address/p1", "--set", "on-loss=fail", "--set", "chunks.rows=7")
    #expect(other.status == 0)
    try FileManager.default.removeItem(atPath: job.destination)
    let missing = job.run("trace", "Address/p1")
    #expect(missing.status == 66 && missing.diagnostics.contains("run the job"), "\(missing.diagnostics)")
  }
}
