import ArgumentParser
import Foundation
import Godwit
import GodwitDisk
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitPlatform
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

  /// What the page says it is, so that an older one is recognised.
  static let kind: StaticString = "report"

  mutating func run(in session: CommandSession) throws -> Int32 {
    let found = try findings.map(FindingsFile.init(path:))
    let loader = try job.loader(in: session, overrides: overrides.values())
    let migration = try loader.job()
    let manager = MigrationManager(migration)
    if output != "-" { try Self.refuseFile(of: manager.job, at: output) }
    // What is wrong with the place is said before anything is counted.
    let replaces = try output == "-" ? false : Self.mayReplace(output)
    let content: ReportContent
    do { content = try ReportContent(manager, manifest: loader.manifest, found: found) } catch {
      throw migration.tellingHints(error)
    }
    session.warnOfReplacedValues(in: migration)
    let page = ReportPage(content).html
    guard output != "-" else {
      session.output.write(data: page)
      return 0
    }
    // It tells of the source, and is no more readable.
    let original = FileManager.default.fileExists(atPath: migration.sourcePath) ? migration.sourcePath : nil
    try ExportFile.write(page, to: output, like: original, replaces: replaces)
    session.output.write("\(output): report of job '\(migration.name)', \(content.state)\n")
    return 0
  }

  // MARK: The file

  /// Whether a path is one of the job's: a file there would keep it from running.
  static func isFile(of job: MigrationJob, at path: String) -> Bool {
    func place(_ path: String) -> String { URL(filePath: path).standardizedFileURL.resolvingSymlinksInPath().path }
    let (file, work) = (place(path), place(WorkFolder.path(forDestination: job.destinationPath)))
    let stores = [job.sourcePath, job.destinationPath].map(place)
    let own = stores + stores.flatMap { [$0 + "-wal", $0 + "-shm", $0 + "-journal"] }
    return own.contains(file) || file == work || file.hasPrefix(work + "/")
  }

  private static func refuseFile(of job: MigrationJob, at path: String) throws {
    guard isFile(of: job, at: path) else { return }
    throw GodwitError(
      .usage, "cannot write the report to '\(path)': the job has its source, its destination or its work folder there",
      remedy: "name another file with -o", safe: "nothing was written")
  }

  /// Enough for everything before the style.
  private static let headBytes = 2048

  /// Whether a report is at the path.
  ///
  /// - Throws: 73 when something else is there.
  static func mayReplace(_ path: String, kind: StaticString = ReportVerb.kind) throws -> Bool {
    var info = stat()
    guard lstat(path, &info) == 0 else { return false }
    if info.st_mode & S_IFMT == S_IFREG, let file = FileHandle(forReadingAtPath: path) {
      defer { try? file.close() }
      let head = (try? file.read(upToCount: headBytes)) ?? Data()
      if HTMLPage.isPage(String(decoding: head, as: UTF8.self), kind: kind) { return true }
    }
    throw GodwitError(
      .cannotCreate, "cannot write the report to '\(path)': what is there is not a report",
      remedy: "name another file with -o, or remove that one", safe: "nothing was written")
  }
}
