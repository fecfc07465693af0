import Foundation
import Godwit
import GodwitManifest
import GodwitVerifier
import TestSupport
import Testing

/// The code of a service that runs a manifest. It imports `GodwitManifest` alone of our modules.
@Suite struct ServiceTests {
  private static let jobs = Checkout.url("jobs")

  @Test func `a manifest is loaded, run and verified`() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.copyItem(
      at: Self.jobs.appending(path: "travel"), to: URL(filePath: folder.file("travel")))
    let path = folder.file("travel/job.yaml")

    let job = try JobLoader(contentsOf: URL(filePath: path)).job()
    let summary = try MigrationManager(job).run()
    #expect(summary.outcome == .finished)
    let proof = try Verifier(job: try JobLoader(contentsOf: URL(filePath: path)).job(for: .verification)).run()
    #expect(proof.isClean, "\(proof)")
  }

  @Test func `a missing manifest is reported as a missing file`() throws {
    let error = #expect(throws: GodwitError.self) { try JobLoader(contentsOf: URL(filePath: "/nowhere/job.yaml")) }
    #expect(error?.code == .missingInput)
  }
}
