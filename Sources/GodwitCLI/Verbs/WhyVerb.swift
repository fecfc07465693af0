import ArgumentParser
import Foundation
import Godwit
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode
import Logging

struct WhyVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "why",
    abstract: "Show which model version fits a store, or why MODEL does not and what a migration would need.",
    discussion: """
      Shows what a job with `mappings: auto` would do. --against compares two models, the first as if it were the model \
      of a store, and counts no rows. Two stores are compared by the models inside them. `why --hashes FILE MODEL` tells \
      which version has the hashes of a message of Core Data, a property list, or hex or base64; FILE - is standard \
      input. A manifest alone, JOB.yaml, shows each store that it names. Exit status: 0 MODEL fits; 2 a migration is \
      needed and possible; 69 no version of MODEL fits the store, or no path leads to MODEL; otherwise the status of the \
      error that would stop the job, as for `plan --detailed-exitcode`.
      """)

  @Argument(help: ArgumentHelp("A store; with --against, a model.", valueName: "STORE"), completion: .file())
  var source: String
  @Argument(
    help: ArgumentHelp(
      "A .xcdatamodel or .mom; a .xcdatamodeld or .momd (its current version); a folder with one of them in it; PATH#Version Name; or a second store.",
      valueName: "MODEL"), completion: .file())
  var model: String?
  @Option(
    help: ArgumentHelp("Compare this model with the one given as STORE.", valueName: "MODEL"), completion: .file())
  var against: String?
  @OptionGroup var published: HashOptions
  @Option(help: ArgumentHelp("Use only the entities of this configuration in every version.", valueName: "NAME"))
  var configuration: String?
  @OptionGroup var format: FormatOptions

  /// Whether the hashes are those of a store that is not here.
  private var isAboutHashes: Bool { model == nil && against == nil && !isManifest && published.hashes.count == 1 }

  /// The files whose hashes take precedence over computed ones.
  private var hashes: [String] { isAboutHashes ? [] : published.hashes }

  func validate() throws {
    switch (model, against) {
    case (nil, nil):
      guard !isManifest, !isAboutHashes else { return }
      throw ValidationError("expected a MODEL, a second STORE, --against MODEL, or --hashes FILE")
    case (_?, _?): throw ValidationError("expected one MODEL or --against MODEL, found both")
    default: break
    }
  }

  static var outputs: [OutputKind] { [.why, .stores] }

  /// Whether a manifest takes the place of store and model.
  private var isManifest: Bool {
    model == nil && against == nil && [".yaml", ".yml"].contains { source.hasSuffix($0) }
  }

  mutating func run(in session: CommandSession) throws -> Int32 {
    if isManifest {
      guard hashes.isEmpty, configuration == nil else {
        throw ValidationError(
          "--hashes and --configuration are for a STORE: a manifest has 'models' and 'configuration'")
      }
      let loader = try session.loader(ofManifest: source, overrides: [])
      return try StoreSurvey(session: session, loader: loader, verb: "why", isJSON: format.format == .json).why()
    }
    var (found, path) = try compare(in: session)
    // The model inside the store is used last, as in a job.
    if found.verdict == .noModelFits, let models = path?.models {
      found = Compatibility(of: models.source, with: models.destination)
    }
    let shown = found.verdict == .migrationNeeded ? path : nil
    switch format.format {
    case .json:
      let path = shown.map { ["path": $0] } ?? [:]
      try session.print(json: JoinedRecord(found, path), as: .why)
    case .text: session.output.write("\(found.text(path: shown?.lines ?? []))\n")
    }
    session.warnOfUnconfirmedHashRules(found.unconfirmedHashRules)
    switch found.verdict {
    case .compatible: return 0
    case .migrationNeeded:
      if let problem = path?.problem { throw problem }
      if let model, try isStore(model) { try refuseInference(found, to: model) }
      return 2
    case .noModelFits:
      if let problem = path?.problem, problem.topic == .storedModel { throw problem }
      throw try misfit(found)
    }
  }

  private func compare(in session: CommandSession) throws -> (Compatibility, AutomaticPath?) {
    if let against { return try compareModels(with: against, in: session) }
    if isAboutHashes { return try askHashes(published.hashes[0], in: session) }
    guard let model, try isStore(model) else { return try askStore(in: session) }
    guard published.hashes.isEmpty, configuration == nil else {
      throw ValidationError("--hashes and --configuration are for a MODEL, and '\(model)' is a store")
    }
    return (Compatibility(of: try modelInside(source), with: try modelInside(model)), nil)
  }

  // MARK: A model against a model

  private func compareModels(
    with other: String, in session: CommandSession
  ) throws -> (Compatibility, AutomaticPath?) {
    var old = try ModelVerb.read(source)
    var new = try ModelVerb.read(other, hashes: hashes)
    if let configuration {
      old = try old.restricted(toConfiguration: configuration)
      new = try new.restricted(toConfiguration: configuration)
    }
    let found = Compatibility(of: old, with: new)
    guard found.verdict == .migrationNeeded else { return (found, nil) }
    let (from, to) = (ModelReference(parsing: source), ModelReference(parsing: other))
    // In one bundle the names show which version is older. With two bundles the first one given is the older.
    let isOneBundle = ModelSearch.modelOrPath(from.path) == ModelSearch.modelOrPath(to.path)
    let loader = try loader(
      models: isOneBundle ? [from.path] : ["\(from.path)#\(old.name)", "\(to.path)#\(new.name)"],
      destinationModel: new.name, versionOrder: isOneBundle || old.name == new.name ? [] : [old.name, new.name],
      in: session)
    return (found, AutomaticPath(loader, from: old, to: new))
  }

  // MARK: A store against a store

  private func isStore(_ path: String) throws -> Bool {
    guard XcodeFileKind.identify(ModelReference(parsing: path).path) == nil, StoreFiles.isRegularFile(path) else {
      return false
    }
    return try StoreMetadata.ifStore(at: path) != nil
  }

  /// - Throws: 69 where the model of one store leads to that of the other by a written mapping alone.
  private func refuseInference(_ found: Compatibility, to other: String) throws {
    guard !found.refusals.isEmpty else { return }
    throw GodwitError(
      .noPath, "no mapping can be inferred from '\(source)' to '\(other)'",
      cause: found.refusals.asLines,
      remedy: "take both models with `godwit model extract`, and write the mapping with `godwit mapping new`")
  }

  /// The model that a store carries, or that its receipt has, with the path of the store as its name.
  private func modelInside(_ path: String) throws -> ManagedObjectModel {
    let metadata = try StoreMetadata(readingStoreAt: path)
    let problem: String
    switch try StoredModel(inStoreAt: path, metadata: metadata, name: path) {
    case .fits(let cached): return cached.model
    case .inReceipt(let model, _): return model
    case .missing(let receiptProblem): problem = receiptProblem ?? "it carries none"
    case .differs: problem = "the model that it carries is of another version"
    case .unreadable(let error): problem = error.line
    }
    throw GodwitError(
      .noPath, "cannot tell the model of '\(path)'", cause: problem,
      remedy: "name a model instead of one store: `godwit why STORE MODEL`")
  }

  // MARK: Hashes against a model

  private func askHashes(_ file: String, in session: CommandSession) throws -> (Compatibility, AutomaticPath?) {
    let isInput = file == "-"
    let name = isInput ? "<stdin>" : file
    let data = isInput ? try Self.standardInput() : try Self.bytes(of: file)
    guard !data.starts(with: "SQLite format 3".utf8) else {
      throw GodwitError(
        .usage, "expected a file with hashes, found a store: '\(file)'",
        remedy: "name the store first: `godwit why STORE MODEL`")
    }
    let printed = try PrintedVersionHashes(Array(data), file: name)
    let reference = ModelReference(parsing: source)
    let bundle = try ModelVerb.bundle(at: reference.path, hashes: [])
    let found = try ModelVerb.listingReadable(in: bundle) {
      try Compatibility(
        of: printed, from: name, with: bundle, version: reference.version, configuration: configuration)
    }
    guard found.verdict == .migrationNeeded, let own = found.fitting.first else { return (found, nil) }
    let loader = try loader(models: [reference.path], destinationModel: found.model, versionOrder: [], in: session)
    func version(_ name: String) throws -> ManagedObjectModel {
      let model = try bundle.model(named: name)
      // A version without it was compared as a whole.
      return configuration.flatMap { try? model.restricted(toConfiguration: $0) } ?? model
    }
    return (found, AutomaticPath(loader, from: try version(own), to: try version(found.model)))
  }

  private static let limit = ByteCount.mebibytes(64)

  private static func tooLarge(_ name: String) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot read '\(name)': it has more than \(limit)", remedy: "give the part with the hashes")
  }

  private static func bytes(of file: String) throws -> Data {
    guard let data = try ReadableFile.bytes(of: file, limit: limit) else { throw tooLarge(file) }
    return data
  }

  private static func standardInput() throws -> Data {
    var data = Data()
    while let piece = try FileHandle.standardInput.read(upToCount: 1 << 16), !piece.isEmpty {
      data += piece
      guard data.count <= limit.bytes else { throw tooLarge("<stdin>") }
    }
    return data
  }

  // MARK: A store against a model

  private func askStore(in session: CommandSession) throws -> (Compatibility, AutomaticPath?) {
    let reference = ModelReference(parsing: model ?? "")
    let kind = XcodeFileKind.identify(ModelReference(parsing: source).path)
    guard kind == nil else {
      throw GodwitError(
        .usage, "expected a store, found a model: '\(source)'", remedy: "compare two models with `--against MODEL`")
    }
    let bundle = try ModelVerb.bundle(at: reference.path, hashes: hashes)
    let found = try ModelVerb.listingReadable(in: bundle) {
      try Compatibility(ofStoreAt: source, with: bundle, version: reference.version, configuration: configuration)
    }
    try session.warnOfLogs(besideStoreAt: source)
    guard found.verdict != .compatible else { return (found, nil) }
    return (
      found,
      AutomaticPath(try loader(models: [reference.path], destinationModel: found.model, versionOrder: [], in: session))
    )
  }

  private func loader(
    models: [String], destinationModel: String, versionOrder: [String], in session: CommandSession
  ) throws -> JobLoader {
    let scratch = FileManager.default.temporaryDirectory.appending(path: "godwit-why-\(UUID().uuidString).sqlite").path
    let manifest = JobManifest(
      askingFor: source, to: scratch, models: models + hashes, destinationModel: destinationModel,
      configuration: configuration, versionOrder: versionOrder, folder: FileManager.default.currentDirectoryPath)
    return JobLoader(
      manifest: manifest, logger: Logger(label: "godwit") { _ in SwiftLogNoOpLogHandler() }, policies: session.policies)
  }

  /// The remedy if no version fits the store.
  private func misfit(_ found: Compatibility) throws -> GodwitError {
    guard !isAboutHashes else {
      return GodwitError(
        .noPath, "no version of '\(source)' has the hashes of '\(found.source)'", cause: found.first,
        remedy: "give the models of the build that wrote the store")
    }
    var remedy = "give the model version that the store was written with"
    let metadata = try StoreMetadata(readingStoreAt: source)
    let hashes = metadata.entityVersionHashes
    if metadata.versionHashes.isEmpty {
      remedy =
        "the store does not identify its version: name the version in a manifest with `assume-source-model: NAME`"
    } else if configuration == nil, let path = model.map({ ModelReference(parsing: $0).path }),
      let other = try ModelVersions(references: [path] + self.hashes).configuration(fitting: hashes)
    {
      remedy =
        "the configuration '\(other.configuration)' of '\(other.model)' fits: add `--configuration '\(other.configuration)'`"
    }
    return GodwitError(.noPath, "no model fits the store '\(source)'", cause: found.first, remedy: remedy)
  }
}
