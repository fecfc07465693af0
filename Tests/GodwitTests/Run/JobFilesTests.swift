import Foundation
import Godwit
import GodwitJob
import TestSupport
import Testing

struct JobFilesTests {
  @Test func `what a job reads, writes or keeps is one of its files, and nothing else is`() throws {
    let fixture = try MigrationFixture.notes()
    var job = try fixture.job
    let destination = job.destinationPath
    let kept = (destination as NSString).deletingPathExtension + "~.sqlite"
    let always = [
      job.sourcePath, job.sourcePath + "-wal", destination, destination + "-journal", destination + ".godwit/x",
      destination + ".quarantine.sqlite", destination + ".quarantine.sqlite-wal", destination + ".verification.json",
      (destination as NSString).deletingLastPathComponent + "/.destination_SUPPORT/_EXTERNAL_DATA/x",
      (destination as NSString).deletingLastPathComponent + "/.destination.sqlite.quarantine_SUPPORT",
    ]
    let onlyReplacing = [kept, kept + "-wal", kept + ".receipt.json"]
    let never = [fixture.folder.file("report.html"), destination + ".html", destination + "-other"]
    for replaces in [false, true] {
      if replaces { job.existingDestination = .replace(keepsOld: true) }
      job.receipt = .besideDestination
      let files = try MigrationManager(job).files
      for path in always + [destination + ".receipt.json"] { #expect(try files.name(at: path) != nil, "\(path)") }
      for path in onlyReplacing { #expect(try (files.name(at: path) != nil) == replaces, "\(path)") }
      for path in never { #expect(try files.name(at: path) == nil, "\(path)") }
    }
    // The path of the receipt belongs to no other file of the job.
    #expect(try JobFiles(job, receipt: nil).name(at: destination + ".receipt.json") == nil)
    for path in [destination + ".quarantine.sqlite", destination + ".verification.json", kept + ".receipt.json"] {
      job.receipt = .file(URL(filePath: path))
      let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
      #expect(error?.code == .configuration && error?.message.contains("it is the job's") == true, "\(path)")
    }
  }
}
