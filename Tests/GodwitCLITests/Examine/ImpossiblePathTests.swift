import Foundation
import GodwitCLI
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Paths that can lead to no file: a loop of symbolic links, a name that is too long, a file in the place of a folder.
struct ImpossiblePathTests {
  private let project = ProjectFixture()

  private static let kinds = ["loop", "loop/s.sqlite", String(repeating: "n", count: 300), "plain/s.sqlite"]

  /// The path, and files that are there.
  private struct Files {
    var path, model, store, job: String
  }

  private func make(_ kind: String) throws -> Files {
    try project.makeTwoVersions()
    try project.write("plain", "a file")
    try FileManager.default.createSymbolicLink(atPath: project.path("loop"), withDestinationPath: "loop")
    return try Files(
      path: project.path(kind), model: project.path("M.xcdatamodeld"), store: project.path("s.sqlite"),
      job: project.path("job.yaml"))
  }

  @Test(arguments: kinds) func `each verb calls a store or a model at such a path missing`(kind: String) throws {
    let files = try make(kind)
    let (path, model) = (files.path, files.model)
    let (store, job) = (files.store, files.job)
    let copy = try project.path("copy")
    let uri = "x-coredata://A/T/p1"
    for verb in [
      ["inspect", path], ["why", path, model], ["why", store, path], ["export", path, "--raw", "--all"],
      ["export", path, "--entity", "T", "--model", model], ["init", path, model, "-o", "-"],
      ["init", store, path, "-o", "-"], ["salvage", path, "-o", copy], ["salvage", store, "-o", copy, "--model", path],
      ["compact", path], ["compact", path, "--dry-run"], ["compact", path, "--undo"],
      ["compact", store, "--model", path], ["quarantine", "apply", path, store, "-o", copy], ["run", path],
      ["plan", path], ["status", path], ["audit", path], ["verify", path], ["verify", "--receipt", path],
      ["verify", job, "--destination", path], ["trace", job, "--destination", path, uri], ["trace", path, uri],
      ["discard", path], ["report", path, "-o", copy], ["lint", path], ["test", path], ["model", "hash", path],
      ["model", "extract", path, "-o", copy + ".xcdatamodeld"], ["mapping", "infer", path, model],
      ["mapping", "convert", path],
      ["make-store", path, copy, "--rows", "1"], ["plan", job, "--source", path], ["run", job, "--source", path],
      ["run", job, "--source", path, "--set", "destination={existing: in-place}"],
      ["plan", job, "--set", "source={merge: [\(store), \(path)]}"],
      ["run", job, "--set", "source={list: \(path)}", "--destination", copy + "-{name}"],
      ["run", job, "--source", path + "/*.sqlite", "--destination", copy + "-{name}"],
      ["plan", job, "--set", "layout={from: \(path)}"],
    ] {
      let result = project.godwit(verb)
      #expect(result.status == 66, "\(verb): \(result)")
    }
    #expect(!FileManager.default.fileExists(atPath: copy))
  }

  @Test func `plan and run refuse a destination below a file alike`() throws {
    let job = try make("plain").job
    for path in ["plain/d.sqlite", "plain/more/d.sqlite"] {
      let run = project.godwit("run", job, "--destination", try project.path(path))
      #expect(run.status == 73 && run.diagnostics.contains("plain' is a file"), "\(run)")
    }
  }
}
