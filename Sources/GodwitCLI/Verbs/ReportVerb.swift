import ArgumentParser
import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore

struct ReportVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Write one HTML page: path, mappings as a picture, what ran when, memory, losses, findings, receipt.",
    discussion: """
      The page needs no network and no script. It works before a run, while one is under way, and afterwards. It has \
      names of entities and properties, counts, and the manifest as it is, but no values. -o replaces an older report; \
      anything else there ends with 73.
      """)

  @OptionGroup var job: JobOptions
  @OptionGroup var overrides: OverrideOptions

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Where the page goes; replaces an older report. With - it goes to standard output.", valueName: "FILE"),
    completion: .file())
  var output: String

  @Option(
    help: ArgumentHelp(
      "Add what `verify` or `audit` found: a file with its output as JSON. May be repeated.", valueName: "FILE"),
    completion: .file())
  var findings: [String] = []

  /// The kind that the page names, so that an older one is recognised.
  static let kind: StaticString = "report"

  mutating func run(in session: CommandSession) throws -> Int32 {
    let found = try findings.map(FindingsFile.init(path:))
    let loader = try job.loader(in: session, overrides: overrides.values())
    if loader.isForManyStores, let folder = try ResultsFolder.used(by: loader.manifest) {
      let record = try StoresRecord(loader, folder)
      let state = "\(record.left) of \(record.stores.counted("store")) left"
      return try write(record.html(at: Date()), to: file(), of: record.job, state, in: session)
    }
    let migration = try loader.job()
    let manager = MigrationManager(migration)
    // It tells of the source, so no more people may read it. A bad place is reported before anything is counted.
    let original = migration.sourcePaths.filter { FileManager.default.fileExists(atPath: $0) }
    let file = file(like: original)
    if output != "-" { try file.check(owner: manager.files.name) }
    let content: ReportContent
    do { content = try ReportContent(manager, manifest: loader.manifest, found: found) } catch {
      throw migration.tellingHints(error)
    }
    session.warnOfReplacedValues(in: migration)
    return try write(ReportPage(content).html, to: file, of: migration.name, content.state, in: session)
  }

  /// Writes a page, and says how far its job is.
  private func write(
    _ page: String, to file: OutputFile, of job: String, _ state: String, in session: CommandSession
  ) throws -> Int32 {
    guard output != "-" else {
      session.output.write(data: page)
      return 0
    }
    try ExportFile.write(page, to: file)
    session.output.write("\("\(output): report of job '\(job)', \(state)".onOneLine)\n")
    return 0
  }

  /// Where the page is written: an older one is replaced.
  ///
  /// - Parameter source: The store that the page tells of.
  private func file(like source: [String] = []) -> OutputFile {
    OutputFile(output, "a report", like: source) {
      HTMLPage.isPage(String(decoding: $0, as: UTF8.self), kind: Self.kind)
    }
  }
}
