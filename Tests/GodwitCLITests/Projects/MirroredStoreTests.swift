import GodwitCLI
import TestSupport
import Testing

struct `Mirrored stores` {
  @Test func `a job of several steps runs with 'cloudkit: drop'`() throws {
    let folder = try TemporaryFolder()
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(
      arguments: [
        "run", PeoplizerStores.file("v1-to-v5.yaml"), "--set", "cloudkit=drop", "--destination",
        folder.file("people.sqlite"), "--quiet",
      ], in: session)
    #expect(status == 0, "\(session.diagnostics.text)")
  }

  @Test func `the plan of a mirrored store lists what 'cloudkit: drop' loses`() throws {
    let job = try BreakableJob()
    try job.sql("CREATE TABLE ANSCKMETADATAENTRY (Z_PK INTEGER PRIMARY KEY)")
    try job.sql("INSERT INTO ANSCKMETADATAENTRY VALUES (1)")
    func plan() -> (status: Int32, output: String, diagnostics: String) {
      let session = CommandSession(output: .memory(), diagnostics: .memory())
      let status = GodwitCommand.run(arguments: ["plan", job.file("job.yaml")], in: session)
      return (status, session.output.text, session.diagnostics.text)
    }
    let refused = plan()
    #expect(refused.status == 65)
    #expect(refused.diagnostics.contains("cloudkit: drop"))
    try job.append("job.yaml", "cloudkit: drop\n")
    let planned = plan()
    #expect(planned.status == 0, "\(planned.diagnostics)")
    #expect(planned.output.contains("\n  note         CloudKit mirroring is dropped: 1 row of ANSCKMETADATAENTRY\n"))
  }
}
