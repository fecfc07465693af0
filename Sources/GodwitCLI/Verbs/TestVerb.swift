import ArgumentParser
import Foundation
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import Logging
import Synchronization

struct TestVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "test", abstract: "Migrate stores of every shipped model version to the current one, and prove each.",
    discussion: """
      Makes two stores for each version before the current one: a plain store, and one with what migrations often fail \
      on. Migrates and verifies these and the stores of --stores, except stores with a receipt, which are results of \
      jobs. A file 'Name.expect.yaml' beside 'Name.sqlite' says \
      what the migrated store must hold. The store and the job of a failed test go to the folder of --keep. Exit \
      status: 0 all passed; 4 a test failed.
      """)

  /// Which versions get made stores.
  enum Versions: ExpressibleByArgument {
    case all, none
    case last(Int)

    init?(argument: String) {
      switch argument {
      case "all": self = .all
      case "none": self = .none
      default:
        guard let number = Int(argument), number > 0 else { return nil }
        self = .last(number)
      }
    }
  }

  @Argument(
    help: ArgumentHelp(
      "The model with its versions, a folder with one model in it, or a job manifest, whose source and destination are replaced.",
      valueName: "MODELS"),
    completion: .file())
  var subject: String

  @Option(help: ArgumentHelp("Also test the stores in this folder.", valueName: "DIR"), completion: .directory)
  var stores: String?
  @Option(
    help: ArgumentHelp("Make stores of all versions, of none, or of the last N.", valueName: "all|none|N"),
    completion: .list(["all", "none"]))
  var from: Versions = .all
  @Option(help: ArgumentHelp("Migrate to this version instead of the current one.", valueName: "VERSION"))
  var to: String?
  @Option(
    help: ArgumentHelp(
      "Set any key of the manifest but source and destination to a YAML value, such as on-loss=fail. May be repeated.",
      valueName: "KEY=VALUE"))
  var set: [String] = []
  @Option(help: ArgumentHelp("Number of objects in a made store.", valueName: "N")) var rows = 200
  @Option(help: ArgumentHelp("Seed of the random values in made stores.", valueName: "S")) var seed: UInt64 = 1
  @Option(
    help: ArgumentHelp("Expectations that every migrated store must meet.", valueName: "FILE"), completion: .file())
  var expect: String?
  @Option(help: ArgumentHelp("Write the results as JUnit XML.", valueName: "FILE"), completion: .file())
  var junit: String?
  @Option(help: ArgumentHelp("Folder for the stores of failed tests.", valueName: "DIR"), completion: .directory)
  var keep = "godwit-test-failures"
  @Option(help: ArgumentHelp("Number of tests that run at once; by default one for each core.", valueName: "N"))
  var jobs: Int?
  @OptionGroup var format: FormatOptions

  func validate() throws {
    guard (0...1_000_000).contains(rows) else {
      throw ValidationError("cannot make \(rows) rows for a test: expected 0 to 1000000")
    }
    if let jobs, !(1...256).contains(jobs) {
      throw ValidationError("cannot run \(jobs) tests at once: expected 1 to 256")
    }
    let own = ["source", "destination"]
    if let key = try overrides().map(\.key).first(where: { own.contains($0.prefix { $0 != "." }.description) }) {
      throw ValidationError(
        "expected another key than '\(key)' after --set: every test has its own source and destination")
    }
    if isManifest, to != nil {
      throw ValidationError("expected --to with a model, found a manifest: set its key 'destination-model' instead")
    }
  }

  private func overrides() throws -> [ManifestOverride] { try set.map(ManifestOverride.init(parsing:)) }

  private var isManifest: Bool { [".yaml", ".yml"].contains { subject.hasSuffix($0) } }

  static var outputs: [OutputKind] { [.test] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let signals = StopSignals()
    let isStopped = Atomic(false)
    signals.watch(stop: { _ in isStopped.store(true, ordering: .relaxed) }, interrupt: {}, report: {})
    defer { signals.finish() }
    let scratch = try ScratchFolder(name: "godwit-test")
    defer { scratch.remove() }
    var runner = MigrationTestRunner(
      subject: isManifest ? .manifest(subject) : .models([absolute(subject)], destination: to),
      overrides: try overrides(), policies: session.policies, scratch: scratch.path, keep: absolute(keep))
    let loader = try loader(of: runner, in: session)
    runner.mappingFiles = loader.mappingFiles
    let tests = try tests(loader, in: session)
    guard !tests.isEmpty else {
      session.diagnostics.write("godwit: nothing to test: no version before the current one, and no --stores\n")
      return 0
    }
    let report = report(of: tests)
    // A bad place is reported before any work.
    try report?.check()
    let table = TestTable(tests)
    if format.format == .text { session.output.write(table.head) }
    let results = try runner.run(
      tests, jobs: jobs ?? ProcessInfo.processInfo.activeProcessorCount,
      isStopped: { isStopped.load(ordering: .relaxed) },
      each: { if format.format == .text { session.output.write(table.line($0)) } })
    signals.finish()
    switch format.format {
    case .text: session.output.write(TestTable.conclusion(results))
    case .json: try session.print(json: Record(results), as: .test)
    }
    if let report { try ExportFile.write(JUnitReport(results: results).text, to: report) }
    signals.dieIfStopped()
    return results.contains { $0.outcome == .failed } ? GodwitError.Code.findings.rawValue : 0
  }

  /// The document of `--format json`.
  private struct Record: Encodable {
    var tests: Int
    var failed: Int
    var skipped: Int
    var results: [MigrationTestResult]

    init(_ results: [MigrationTestResult]) {
      tests = results.count
      failed = results.count { $0.outcome == .failed }
      skipped = results.count { $0.outcome == .skipped }
      self.results = results
    }
  }

  // MARK: Tests

  private func tests(_ loader: JobLoader, in session: CommandSession) throws -> [MigrationTest] {
    let everywhere = expect.map { [$0] } ?? []
    // A file that is wrong fails once, before any test.
    for path in everywhere { _ = try StoreExpectations(contentsOf: path) }
    var tests: [MigrationTest] = []
    let (versions, current) = try shippedVersions(loader)
    let chosen =
      switch from {
      case .all: versions[...]
      case .none: versions.prefix(0)
      case .last(let count): versions.suffix(count)
      }
    // The version of a given store shows in its test.
    let tested = (stores == nil ? chosen : versions[...]).compactMap { try? $0.model.get() }
    if !tested.isEmpty { try loader.refuseUnreadableMappings(among: tested + [current]) }
    for version in chosen {
      for isNasty in [false, true] {
        tests.append(
          MigrationTest(
            version: version.name, name: isNasty ? "nasty" : "plain",
            store: .made(version.model, rows: rows, seed: seed, isNasty: isNasty), expectations: everywhere))
      }
    }
    guard let stores else { return tests }
    let given = try GivenStore.all(in: stores)
    if given.results > 0 {
      session.diagnostics.write(
        "godwit: \(given.results) store\(given.results == 1 ? " has" : "s have") a receipt and \(given.results == 1 ? "is" : "are") not tested: jobs made \(given.results == 1 ? "it" : "them")\n"
      )
    }
    return tests
      + given.stores.map {
        MigrationTest(
          name: $0.name, store: .given(absolute($0.path)),
          expectations: everywhere + ($0.expectations.map { [$0] } ?? []))
      }
  }

  private func shippedVersions(
    _ loader: JobLoader
  ) throws -> (versions: [JobLoader.ShippedVersion], destination: ManagedObjectModel) {
    do { return try loader.shippedVersions() } catch let error as GodwitError where !isManifest {
      throw ModelVersions.telling(option: "--to VERSION", error)
    }
  }

  private func loader(of runner: MigrationTestRunner, in session: CommandSession) throws -> JobLoader {
    let logger = Logger(label: "godwit") { _ in SwiftLogNoOpLogHandler() }
    guard !isManifest else {
      return try JobLoader(
        manifestPath: subject, overrides: try overrides(), logger: logger, policies: session.policies)
    }
    var manifest = JobManifest(
      askingFor: "", to: "", models: [subject], destinationModel: to,
      folder: FileManager.default.currentDirectoryPath)
    if !set.isEmpty {
      // The keys decide about the versions too. Each test tells what is wrong with them.
      let source = runner.scratch + "/" + MigrationTestRunner.sourceName
      do { manifest = try runner.manifest(source: source, in: runner.scratch) } catch let error as GodwitError
        where error.code == .configuration
      {}
    }
    return JobLoader(manifest: manifest, logger: logger, policies: session.policies)
  }

  private func absolute(_ path: String) -> String {
    path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
  }

  /// The place of the JUnit report, which tells of the given stores: an older one is replaced.
  private func report(of tests: [MigrationTest]) -> OutputFile? {
    let given = tests.compactMap { if case .given(let path) = $0.store { path } else { nil } }
    return junit.map {
      OutputFile($0, "a JUnit report of godwit", option: "--junit", like: given) {
        $0.starts(with: JUnitReport.beginning.utf8)
      }
    }
  }
}

/// A store in the folder of `--stores`.
private struct GivenStore {
  var path: String
  /// The path within the folder.
  var name: String
  var expectations: String?

  private static let extensions = ["sqlite", "sqlite3", "db", "store", "storedata", "xml", "coredata"]
  private static let expectationEnd = ".expect.yaml"

  /// Files with the extension of a store, and those that begin like a SQLite or binary store, by name.
  ///
  /// - Returns: Those without a receipt beside them, and how many have one.
  static func all(in folder: String) throws -> (stores: [GivenStore], results: Int) {
    guard let names = FileManager.default.enumerator(atPath: folder) else {
      throw GodwitError(
        .missingInput, "cannot read folder '\(folder)'", remedy: "name the folder with the stores after --stores")
    }
    var isFolder = ObjCBool(false)
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
      throw GodwitError(
        .missingInput, "cannot read '\(folder)': expected a folder, found none",
        remedy: "name the folder with the stores after --stores")
    }
    try checkReadable(folder)
    var found: [GivenStore] = []
    var expectations: Set<String> = []
    var results = 0
    while let name = names.nextObject() as? String {
      // The external data of a store is in a hidden folder.
      guard !name.split(separator: "/").contains(where: { $0.hasPrefix(".") }) else { continue }
      if FileStatus(named: folder + "/" + name)?.isFolder == true { try checkReadable(folder + "/" + name) }
      if name.hasSuffix(expectationEnd) { expectations.insert(name) }
      let path = folder + "/" + name
      let file = (name as NSString).pathExtension.lowercased()
      guard extensions.contains(file) || isStore(path) else { continue }
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else { continue }
      guard !FileManager.default.fileExists(atPath: path + Receipt.suffix) else {
        results += 1
        continue
      }
      found.append(GivenStore(path: path, name: name))
    }
    found.sort { $0.name < $1.name }
    for index in found.indices {
      let name = found[index].name
      let own = [(name as NSString).deletingPathExtension + expectationEnd, name + expectationEnd]
      guard let file = own.first(where: expectations.contains) else { continue }
      found[index].expectations = folder + "/" + file
      expectations.subtract(own)
    }
    guard let lost = expectations.sorted().first else { return (found, results) }
    throw GodwitError(
      .configuration, "'\(folder)/\(lost)' belongs to no store",
      remedy: "name it after its store: 'Name\(expectationEnd)' beside 'Name.sqlite'")
  }

  /// The enumerator passes over a folder that it cannot list.
  private static func checkReadable(_ folder: String) throws {
    guard access(folder, R_OK | X_OK) != 0 else { return }
    throw GodwitError(
      .permission, "cannot read folder '\(folder)': \(String(cString: strerror(errno)))",
      remedy: "check its permissions, or name a folder beside it after --stores")
  }

  private static func isStore(_ path: String) -> Bool {
    guard FileStatus(following: path)?.isFile == true,
      let file = FileHandle(forReadingAtPath: path), let head = try? file.read(upToCount: 16)
    else { return false }
    return [.store(.sqlite), .store(.binary)].contains(StoreType.Content(head: Array(head)))
  }
}
