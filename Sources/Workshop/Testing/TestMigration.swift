public import Foundation
import Godwit
public import GodwitJob
import GodwitManifest
public import GodwitModel
import GodwitStore
import GodwitVerifier
import GodwitXcode

/// One step of a migration, to be run on small stores that a test writes as literals.
///
/// ```swift
/// let migration = try TestMigration(
///   models: project.appending(path: "TodoList.xcdatamodeld"), from: "TodoList", to: "TodoList 2",
///   mapping: .file(project.appending(path: "by-policy.mapping.yaml")), policies: ["QuietEntries": { QuietEntries() }])
/// let result = try migration.migrate(SourceObject("ListEntry", ["name": "apples"]))
/// #expect(try result.objects("ListEntry").map { try $0.boolean("doNotAlert") } == [true])
/// ```
///
/// Every call of `migrate` has files of its own, which are gone when it returns, so tests may
/// run in parallel.
public struct TestMigration: Sendable {
  /// The source of a step's mapping model.
  public struct Mapping: Sendable {
    enum Origin: Sendable {
      case inferred
      case files([URL])
      case models([MappingModel])
    }

    let origin: Origin

    /// The mapping model that Core Data's lightweight migration would infer.
    public static var inferred: Mapping { Mapping(origin: .inferred) }

    /// A mapping file: `.mapping.yaml`, `.xcmappingmodel` or `.cdm`; several for the parts of one mapping model, in
    /// mapping order.
    public static func file(_ urls: URL...) -> Mapping { Mapping(origin: .files(urls)) }

    /// A mapping model that was made in code; several for the parts of one, in mapping order.
    public static func model(_ models: MappingModel...) -> Mapping { Mapping(origin: .models(models)) }
  }

  /// The version of the source store.
  package let sourceModel: ManagedObjectModel
  /// The version of the destination.
  package let destinationModel: ManagedObjectModel
  /// The mapping models that say what each entity becomes.
  package let mappingModels: [MappingModel]
  /// The policies that mappings name.
  package let policies: PolicyRegistry
  /// Whether each migration with a policy runs a second time, in smaller chunks, stopped and resumed after every chunk
  /// that calls a policy, and must give the same objects. It finds a policy that keeps state in properties, or reads a
  /// clock. On by default.
  public var checksResume = true
  /// The content of the manager's user info, for policies.
  public var userInfo: [String: PropertyListValue] = [:]
  /// The folder of the temporary folder; nil for `TMPDIR`.
  package var parentFolder: String?
  /// Called with the path of the destination before it is verified.
  package var willVerify: (@Sendable (String) throws -> Void)?

  /// A step between two versions of a model file.
  ///
  /// - Parameters:
  ///   - models: An `.xcdatamodeld`, `.xcdatamodel`, `.momd` or `.mom`.
  ///   - source: The name of the version of the source store, without a suffix.
  ///   - destination: The name of the version of the destination; nil for the current version.
  ///   - mapping: The source of the mapping model.
  ///   - policies: The policies, by the names that mappings give.
  /// - Throws: `.missingInput` (66) for a version that does not exist or cannot be read; the errors of the mapping.
  public init(
    models: URL, from source: String, to destination: String? = nil, mapping: Mapping, policies: PolicyRegistry = [:]
  ) throws {
    let bundle = try ModelBundle(contentsOf: models)
    try self.init(
      from: bundle.model(named: source),
      to: destination.map { try bundle.model(named: $0) } ?? bundle.currentModel(), mapping: mapping, policies: policies
    )
  }

  /// A step between two models.
  ///
  /// - Parameters:
  ///   - source: The version of the source store.
  ///   - destination: The version of the destination.
  ///   - mapping: The source of the mapping model.
  ///   - policies: The policies, by the names that mappings give.
  /// - Throws: `.noPath` (69) when no mapping model can be inferred; 66 and 78 for mapping files; `.usage` (64) for a
  ///   policy that no mapping names.
  public init(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, mapping: Mapping,
    policies: PolicyRegistry = [:]
  ) throws {
    sourceModel = source
    destinationModel = destination
    self.policies = policies
    mappingModels =
      switch mapping.origin {
      case .inferred: [try MappingModel(inferredFrom: source, to: destination)]
      case .models(let models): models
      case .files(let files):
        try files.map {
          try ListedMapping($0.filePath, named: $0.lastPathComponent).model(from: source, to: destination)
        }
      }
    try refuseUnusedPolicies()
  }

  /// A test of a policy that no mapping calls would pass whatever the policy does.
  private func refuseUnusedPolicies() throws {
    let named = Set(mappingModels.flatMap(\.entityMappings).compactMap(\.policyName))
    // `App.SplitFullName` finds `SplitFullName`, unless the full name is registered.
    let used = Set(named.map { policies.names.contains($0) ? $0 : String($0.split(separator: ".").last ?? "") })
    guard let unused = policies.names.first(where: { !used.contains($0) }) else { return }
    throw GodwitError(
      .usage,
      "policy '\(unused)' is registered, but no mapping names it\(Spelling.suggestion(for: unused, among: named))",
      cause: named.isEmpty ? "no mapping has a policy" : "the mappings name \(named.sorted().joined(separator: ", "))",
      remedy: "write `policy: \(unused)` in the mapping, or set `policyName` of the `EntityMapping`")
  }

  /// Makes a source store of objects, migrates and verifies it.
  ///
  /// - Parameter objects: The objects, in the order of their keys. Objects that they lead to need not be listed.
  /// - Returns: The objects of the destination.
  /// - Throws: As `migrate` with an array.
  public func migrate(_ objects: SourceObject...) throws -> MigratedStore { try migrate(objects) }

  /// Makes a source store of objects, migrates and verifies it.
  ///
  /// - Parameter objects: The objects, in the order of their keys. Objects that they lead to need not be listed.
  /// - Returns: The objects of the destination.
  /// - Throws: `.usage` (64) for an object that does not fit the model, with its place in the test; `.findings` (4)
  ///   when the verifier finds a difference, or a resumed run gives other objects; the errors of the policy and the
  ///   run.
  public func migrate(_ objects: [SourceObject]) throws -> MigratedStore {
    let store = try SourceStore(objects, model: sourceModel)
    let folder = try ScratchFolder(name: "godwit-testing", in: parentFolder)
    try store.write(to: folder.path + "/source.sqlite")
    var job = MigrationJob(
      name: "test", sourcePath: folder.path + "/source.sqlite", destinationPath: folder.path + "/destination.sqlite",
      sourceModel: sourceModel, destinationModel: destinationModel, mappingModels: mappingModels,
      memory: .mebibytes(16))
    job.policies = policies
    job.userInfo = userInfo
    // The second run has to say the same.
    job.now = Date()
    let manager = MigrationManager(job)
    let summary = try manager.run()
    guard summary.outcome == .finished else { throw CancellationError() }
    try willVerify?(job.destinationPath)
    let report = try Verifier(job: manager.job).run()
    guard report.isClean else {
      throw GodwitError(
        .findings,
        "the destination is not what the mapping says; findings of the verifier: \(report.totalFindings)",
        cause: report.findings.map(\.description).asLines,
        remedy: "change only objects of mappings that have a policy, and only through the manager")
    }
    let content = try MigratedContent(storeAt: job.destinationPath, model: destinationModel)
    if checksResume { try checkResume(job, objects: store.count, gives: content, in: folder) }
    return MigratedStore(content, summary: summary, report: report)
  }

  /// Runs the job with a new manager, and so new policies, for every chunk that calls a policy.
  private func checkResume(
    _ job: MigrationJob, objects: Int, gives expected: MigratedContent, in folder: ScratchFolder
  ) throws {
    let mappings = mappingModels.flatMap(\.entityMappings).filter { $0.policyName != nil }
    let names = Set(mappings.map(\.name))
    guard !names.isEmpty else { return }
    var job = job
    job.destinationPath = folder.path + "/resumed.sqlite"
    // Each resume costs some milliseconds.
    job.chunkRows = max(1, objects / 4)
    let remedy =
      "keep state in `manager.userInfo` or look it up in the destination, use no clock and no random numbers, or set "
      + "`checksResume` to false"
    do {
      var summary: MigrationSummary
      repeat {
        let control = MigrationControl()
        summary = try MigrationManager(job).run(control: control) { progress in
          if names.contains(progress.name) { control.stop(reason: "the test stops it") }
        }
        if Task.isCancelled { throw CancellationError() }
      } while summary.outcome == .stopped
    } catch var error as GodwitError {
      error.context = "a second run, stopped and resumed after every chunk" + (error.context.map { "; \($0)" } ?? "")
      error.remedy = error.remedy ?? remedy
      throw error
    }
    let found = try MigratedContent(storeAt: job.destinationPath, model: destinationModel)
    guard let difference = expected.firstDifference(from: found) else { return }
    throw GodwitError(
      .findings, "a run that is stopped and resumed gives other objects: \(difference)",
      cause: "the policy's result depends on more than the two stores", remedy: remedy)
  }
}
