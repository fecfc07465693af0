import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitCLI

struct `Keys that this version does not do` {
  @Test(arguments: [
    ("append: true", "append"), ("history: keep", "history"),
    ("on-invalid: {quarantine: {max-rows: 1}}", "on-invalid"),
    ("stages: [{step: a, before: b}]", "stages"),
  ])
  func `are refused with 78 and their place`(line: String, key: String) throws {
    let folder = try TemporaryFolder()
    let mappings = key == "mappings" ? "" : "mappings: m.mapping.yaml\n"
    try write("godwit: 1\nsource: a\ndestination: b\nmodels: c\n\(mappings)\(line)\n", in: folder)
    let result = refusal(in: folder)
    #expect(result.status == 78)
    #expect(result.text.contains("job.yaml:\(mappings.isEmpty ? 5 : 6):1: "))
    #expect(result.text.contains("is not supported by this version"))
    #expect(result.text.contains("'\(key)") || key == "mappings")
    #expect(result.text.contains("\n  try     "))
  }

  @Test func `no mapping at all is refused too`() throws {
    let folder = try TemporaryFolder()
    try write("godwit: 1\nsource: a\ndestination: b\nmodels: c\n", in: folder)
    let result = refusal(in: folder)
    #expect(result.status == 78)
    #expect(result.text.contains("mappings: auto"))
  }

  @Test func `in place is refused by every verb`() throws {
    let folder = try TemporaryFolder()
    try write("godwit: 1\nsource: a\nin-place: true\nmodels: c\nmappings: m.mapping.yaml\n", in: folder)
    // `run` blocks signals for its whole process, so it has no place in this one.
    for verb in ["plan", "status", "verify", "discard"] {
      let session = CommandSession(output: .memory(), diagnostics: .memory())
      #expect(GodwitCommand.run(arguments: [verb, folder.file("job.yaml")], in: session) == 78)
      #expect(session.diagnostics.text.contains("'in-place' is not supported by this version"))
    }
  }

  private func write(_ text: String, in folder: TemporaryFolder) throws {
    try Data(text.utf8).write(to: URL(filePath: folder.file("job.yaml")))
  }

  private func refusal(in folder: TemporaryFolder) -> (status: Int32, text: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: ["plan", folder.file("job.yaml")], in: session)
    return (status, session.diagnostics.text)
  }
}
