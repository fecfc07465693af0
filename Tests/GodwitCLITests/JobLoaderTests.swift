import Foundation
import TestSupport
import Testing

@testable import GodwitCLI

struct `Keys that this version does not do` {
  @Test(arguments: [
    ("history: keep", "history")
  ])
  func `unsupported manifest keys are refused with 78 and their place`(line: String, key: String) throws {
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

  private func write(_ text: String, in folder: TemporaryFolder) throws {
    try Data(text.utf8).write(to: URL(filePath: folder.file("job.yaml")))
  }

  private func refusal(in folder: TemporaryFolder) -> (status: Int32, text: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: ["plan", folder.file("job.yaml")], in: session)
    return (status, session.diagnostics.text)
  }
}
