import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitSynthesis
import GodwitVerifier
import Logging
import Synchronization

/// Runs tests of migrations: each in a folder of its own, a few at a time.
struct MigrationTestRunner: Sendable {
  /// The models or the manifest that a test migrates with.
  enum Subject: Sendable {
    case models([String], destination: String?)
    /// A manifest, whose source and destination are replaced for each test.
    case manifest(String)
  }

  let subject: Subject
  /// Keys of each test's manifest that the command line sets.
  let overrides: [ManifestOverride]
  let policies: PolicyRegistry
  /// The mapping models around the models, which all tests have in common.
  var mappingFiles = MappingFiles()
  /// The models and the ways between them, which all tests have in common.
  private let loading = SharedLoading()
  /// Where the folders of the tests are made.
  let scratch: String
  /// Where the folder of a test that failed is kept.
  let keep: String

  static let (sourceName, destinationName, manifestName) = ("source.sqlite", "migrated.sqlite", "job.yaml")

  // MARK: All tests

  /// Runs the tests, `jobs` at a time, and hands over their results in the order of the tests.
  ///
  /// - Parameter isStopped: Called before each test; if it returns true, the remaining tests are skipped.
  /// - Throws: 74 when no thread can be made.
  func run(
    _ tests: [MigrationTest], jobs: Int, isStopped: @escaping @Sendable () -> Bool,
    each: (MigrationTestResult) -> Void
  ) throws -> [MigrationTestResult] {
    let queue = Queue(count: tests.count)
    var started = 0
    for _ in 0..<min(jobs, tests.count) {
      let isStarted = WorkerThread.start { [self] in
        while let index = queue.next() {
          queue.finish(index, isStopped() ? skipped(tests[index]) : result(of: tests[index], number: index + 1))
        }
      }
      if isStarted { started += 1 }
    }
    guard started > 0 || tests.isEmpty else { throw WorkerThread.refusal(to: "run the tests") }
    return tests.indices.map { index in
      let result = queue.result(index)
      each(result)
      return result
    }
  }

  /// Hands out tests to threads, and waits for their results.
  private final class Queue: @unchecked Sendable {
    private let condition = NSCondition()
    private var upcoming = 0
    private var results: [MigrationTestResult?]

    init(count: Int) { results = Array(repeating: nil, count: count) }

    func next() -> Int? {
      condition.withLock {
        guard upcoming < results.count else { return nil }
        upcoming += 1
        return upcoming - 1
      }
    }

    func finish(_ index: Int, _ result: MigrationTestResult) {
      condition.withLock {
        results[index] = result
        condition.broadcast()
      }
    }

    func result(_ index: Int) -> MigrationTestResult {
      condition.withLock {
        while true {
          if let result = results[index] { return result }
          condition.wait()
        }
      }
    }
  }

  // MARK: One test

  private func skipped(_ test: MigrationTest) -> MigrationTestResult {
    MigrationTestResult(version: test.version ?? "", store: test.name, outcome: .skipped)
  }

  private func result(of test: MigrationTest, number: Int) -> MigrationTestResult {
    var result = MigrationTestResult(version: test.version ?? "", store: test.name)
    let folder = "\(scratch)/\(number)"
    let start = ContinuousClock.now
    do {
      try perform(test, in: folder, &result)
    } catch {
      let known =
        error as? GodwitError ?? GodwitError(.internalBug, "unexpected failure: \(error)", remedy: "report it")
      result.problems.append(.init(kind: .run, code: known.code.rawValue, message: "\(known)"))
    }
    result.seconds = Clock.seconds(since: start)
    if !result.problems.isEmpty {
      result.outcome = .failed
      keepFiles(of: test, in: folder, &result)
    }
    try? FileManager.default.removeItem(atPath: folder)
    return result
  }

  private func perform(_ test: MigrationTest, in folder: String, _ result: inout MigrationTestResult) throws {
    do { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false) } catch {
      throw GodwitError(
        .cannotCreate, "cannot create folder '\(folder)'", cause: error.localizedDescription,
        remedy: "name another folder for temporary files in the environment variable TMPDIR")
    }
    let source =
      switch test.store {
      case .given(let path): path
      case .made: folder + "/" + Self.sourceName
      }
    let manifest = try manifest(source: source, in: folder)
    if case .made(let model, let rows, let seed, let isNasty) = test.store {
      let highest = manifest.destinationType == .sqlite ? Int64.max : StoreSynthesis.highestMovedKey
      try StoreSynthesis(model: model.get(), rows: rows, seed: seed, isNasty: isNasty, highestKey: highest)
        .write(to: source)
    }
    var loader = JobLoader(
      manifest: manifest,
      logger: Logger(label: "godwit") { _ in SwiftLogNoOpLogHandler() },
      policies: policies)
    loader.mappingFiles = mappingFiles
    var job = try loading.job(loader)
    // The store goes when the test is done.
    (job.receipt, job.durability) = (nil, StoreDispatch.durability(ofSource: source))
    if test.version == nil { result.version = job.sourceModel.name }
    result.path = job.steps.map(\.destinationModel.name)
    let notes = job.inputNotes
    if !notes.isEmpty { (result.notes, result.noteCodes) = (notes.map(\.text), notes.map(\.code)) }
    if let error = job.unsearchedMappingError { throw error }
    let summary = try MigrationManager(job).run { _ in }
    result.objects = summary.objects
    // Accepted losses are losses too, and each description says that they are accepted.
    let lost = summary.losses.losses.filter(\.isLoss)
    result.lost = lost.reduce(0) { $0 + ($1.count ?? 0) }
    result.losses = lost.map(\.description)
    result.lossDetails = lost
    let report = try Verifier(job: try loading.job(loader, for: .verification)).run()
    if !report.isClean {
      result.problems.append(
        .init(kind: .verification, code: GodwitError.Code.findings.rawValue, message: "\(report)"))
    }
    for path in test.expectations {
      let expectations = try StoreExpectations(contentsOf: path)
      result.expectations += expectations.entities.reduce(0) { $0 + $1.conditions.count + ($1.count == nil ? 0 : 1) }
      let failures = try expectations.failures(inStoreAt: job.destinationPath, model: job.destinationModel)
      result.problems += failures.map {
        .init(kind: .expectation, code: GodwitError.Code.findings.rawValue, message: "\(path): \($0)")
      }
    }
  }

  /// The manifest of a test, which lies in its folder.
  func manifest(source: String, in folder: String) throws -> JobManifest {
    let destination = folder + "/" + Self.destinationName
    switch subject {
    case .manifest(let path):
      var manifest = try JobManifest(contentsOf: path, overrides: overrides)
      func place(_ text: String) -> ManifestPath {
        ManifestPath(raw: text, resolved: text, location: .init(file: text, line: 1, column: 1))
      }
      manifest.source = place(source)
      (manifest.destination.path, manifest.destination.existing) = (place(destination), .fail)
      return manifest
    case .models:
      let path = folder + "/" + Self.manifestName
      try write(manifestText(source: source, destination: destination), to: path)
      return try JobManifest(contentsOf: path, overrides: overrides)
    }
  }

  private func manifestText(source: String, destination: String) -> String {
    guard case .models(let models, let version) = subject else { return "" }
    var text = "godwit: 1\nsource: \(JSONString.quoted(source))\ndestination: \(JSONString.quoted(destination))\n"
    text += "models: [\(models.map(JSONString.quoted).joined(separator: ", "))]\n"
    if let version { text += "destination-model: \(JSONString.quoted(version))\n" }
    return text
  }

  private func write(_ text: String, to path: String) throws {
    do { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) } catch {
      throw GodwitError(.cannotCreate, "cannot write '\(path)'", cause: error.localizedDescription)
    }
  }

  // MARK: A test that failed

  /// Copies the made store to the folder of failed tests, with a job that names it.
  private func keepFiles(of test: MigrationTest, in folder: String, _ result: inout MigrationTestResult) {
    // A store whose version cannot be read was never made.
    if case .made = test.store, !FileManager.default.fileExists(atPath: "\(folder)/\(Self.sourceName)") { return }
    let name = "\(result.version) \(test.name)".map { $0.isLetter || $0.isNumber || $0 == "." ? $0 : "-" }
    let manager = FileManager.default
    var kept = "\(keep)/\(String(name))"
    var attempt = 1
    while manager.fileExists(atPath: kept) {
      attempt += 1
      kept = "\(keep)/\(String(name))-\(attempt)"
    }
    do {
      try manager.createDirectory(atPath: kept, withIntermediateDirectories: true)
      var source = "\(folder)/\(Self.sourceName)"
      if case .given(let path) = test.store {
        source = path
      } else {
        for file in try manager.contentsOfDirectory(atPath: folder) where file.contains("source") {
          try manager.copyItem(atPath: "\(folder)/\(file)", toPath: "\(kept)/\(file)")
        }
        source = "\(kept)/\(Self.sourceName)"
      }
      let destination = "\(kept)/\(Self.destinationName)"
      switch subject {
      case .models:
        let path = "\(kept)/\(Self.manifestName)"
        try write(manifestText(source: source, destination: destination), to: path)
        let job = Self.shell(path) + settings
        result.reproduce = "godwit run \(job) && godwit verify \(job)"
      case .manifest(let path):
        let job =
          "\(Self.shell(path)) --source \(Self.shell(source)) --destination \(Self.shell(destination))" + settings
        result.reproduce = "godwit run \(job) && godwit verify \(job)"
      }
      result.kept = kept
    } catch {
      let cause = (error as? GodwitError)?.message ?? error.localizedDescription
      result.problems.append(
        .init(kind: .run, code: GodwitError.Code.cannotCreate.rawValue, message: "cannot keep the store: \(cause)"))
    }
  }

  /// The overrides as options of a command.
  private var settings: String {
    overrides.map { " --set " + Self.shell("\($0.key)=\($0.value)") }.joined()
  }

  /// A word of a shell command.
  static func shell(_ text: String) -> String {
    let isPlain = text.unicodeScalars.allSatisfy {
      $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || "/._-+=:,@%".unicodeScalars.contains($0))
    }
    return isPlain && !text.isEmpty ? text : "'" + text.replacing(scalar: "'", with: "'\\''") + "'"
  }
}
