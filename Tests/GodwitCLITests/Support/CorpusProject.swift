import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitSynthesis
import GodwitVerifier
import GodwitXcode
import Logging
import TestSupport

/// One application of the corpus: its models, mapping models and stores, and what becomes of each.
///
/// Every method gives lines of text: what was done, or the refusal. The lines of all projects are the table that
/// `CorpusProjectTests` compares.
struct CorpusProject: Sendable, CustomStringConvertible {
  let name: String
  private let files: [String]

  var description: String { name }

  static let all: [CorpusProject] = {
    guard let root = Corpus.folder?.path, let walk = FileManager.default.enumerator(atPath: root) else { return [] }
    var files: [String: [String]] = [:]
    for case let path as String in walk {
      let parts = path.split(separator: "/", maxSplits: 1).map(String.init)
      if parts.count == 2 { files[parts[0], default: []].append(parts[1]) }
    }
    return files.keys.sorted().map { name in
      CorpusProject(name: name, files: (files[name] ?? []).sorted { Text($0) < Text($1) })
    }
  }()

  private func path(_ file: String) -> String { Corpus.path(name + "/" + file) }

  private func ending(_ endings: String...) -> [String] {
    files.filter { file in endings.contains { file.hasSuffix("." + $0) } }
  }

  /// Where the project keeps mapping models. The search would find them by the project's root, which the corpus lacks.
  private var mappingFolders: [String] {
    Set(ending("xcmappingmodel").map { URL(filePath: path($0)).deletingLastPathComponent().path }).sorted()
  }

  /// Bundles, and models that lie in none.
  private var models: [String] {
    ending("xcdatamodeld", "momd", "xcdatamodel", "mom").filter { file in
      !file.contains(".xcdatamodeld/") && !file.contains(".momd/")
    }
  }

  var storeFiles: [String] { ending("sqlite", "moody", "storedata", "db") }

  /// The bundles with several versions that can be read, each with the oldest one by the order of names.
  var bundles: [CorpusBundle] {
    models.compactMap { file in
      guard let bundle = try? ModelBundle(contentsOf: path(file)), bundle.readableVersions.count > 1,
        let oldest = bundle.readableVersions.filter({ $0 != bundle.currentVersion }).min(by: ModelBundle.precedes)
      else { return nil }
      return CorpusBundle(description: "\(name)/\(file)", oldest: oldest)
    }
  }

  /// One line of an error: its message and its cause, without the corpus' own path, and without the list of rejected
  /// objects, whose URIs differ from run to run.
  private func text(of error: any Error) -> String {
    guard let error = error as? GodwitError else { return "\(error)" }
    let listed = error.cause.flatMap { $0.hasPrefix("all ") || $0.hasPrefix("the first ") ? nil : $0 }
    let cause = listed.map { " (" + $0.split(separator: "\n").joined(separator: "; ") + ")" } ?? ""
    return "refused, exit \(error.code.rawValue): \(error.message)\(cause)".replacing(Corpus.path(name) + "/", with: "")
  }

  // MARK: Models

  /// Per bundle: the versions that are read, those that are not, and each consecutive pair.
  func modelLines() -> [String] {
    models.flatMap { file -> [String] in
      let bundle: ModelBundle
      do { bundle = try ModelBundle(contentsOf: path(file)) } catch { return ["model \(file): \(text(of: error))"] }
      var names = bundle.versions.sorted(by: ModelBundle.precedes)
      if let current = bundle.currentVersion, let place = names.firstIndex(of: current) {
        names.append(names.remove(at: place))
      }
      var read: [ManagedObjectModel] = []
      var lines: [String] = []
      for version in names {
        do { read.append(try bundle.model(named: version)) } catch { lines.append("  \(version): \(text(of: error))") }
      }
      for (source, destination) in zip(read, read.dropFirst()) {
        let pair = "  \(source.name) > \(destination.name): "
        do {
          _ = try MappingModel(inferredFrom: source, to: destination)
          lines.append(pair + "inferred")
        } catch { lines.append(pair + text(of: error)) }
      }
      return ["model \(file): \(read.count) of \(names.count) versions read"] + lines
    }
  }

  /// The versions of all models that can be read, sources before what was compiled of them.
  private func versions() -> [(file: String, model: ManagedObjectModel)] {
    models.flatMap { file -> [(String, ManagedObjectModel)] in
      guard let bundle = try? ModelBundle(contentsOf: path(file)) else { return [] }
      return bundle.versions.compactMap { version in (try? bundle.model(named: version)).map { (file, $0) } }
    }
  }

  // MARK: Stores

  /// Per store: whether the model predicts its tables, and what the obvious job makes of it.
  func storeLines(_ folder: TemporaryFolder) -> [String] {
    let versions = self.versions()
    return storeFiles.enumerated().map { number, file in
      "store \(file): " + storeLine(file, number, versions, folder)
    }
  }

  private func storeLine(
    _ file: String, _ number: Int, _ versions: [(file: String, model: ManagedObjectModel)], _ folder: TemporaryFolder
  ) -> String {
    do {
      let metadata = try StoreMetadata(readingStoreAt: path(file))
      let fitting = versions.first { $0.model.isCompatible(with: metadata.entityVersionHashes) }
      guard let fitting else { return try ownModelLine(file, number, metadata, folder) }
      let layout = try layout(path(file), fitting.model)
      let manifest = try write(
        """
        godwit: 1
        source: \(quoted(path(file)))
        destination: out-\(number)/made.sqlite
        models: \(quoted(path(fitting.file)))
        \(mappingFolders.isEmpty ? "" : "mapping-search: [\(mappingFolders.map(quoted).joined(separator: ", "))]")
        unregistered-policies: default
        """, "job-\(number).yaml", folder)
      do {
        return "\(fitting.model.name), \(layout), " + (try outcome(ofJob: manifest))
      } catch { return "\(fitting.model.name), \(layout), " + text(of: error) }
    } catch { return text(of: error) }
  }

  /// A store whose model is nowhere in the project is copied by the model that it carries itself.
  private func ownModelLine(
    _ file: String, _ number: Int, _ metadata: StoreMetadata, _ folder: TemporaryFolder
  ) throws -> String {
    guard case .fits(let cached) = try StoredModel(inStoreAt: path(file), metadata: metadata, name: nil) else {
      return "no model of the project fits, and the store carries none"
    }
    let model = cached.model
    var job = MigrationJob(
      name: "own", sourcePath: path(file), destinationPath: folder.file("out-\(number)/made.sqlite"),
      sourceModel: model, destinationModel: model, mappingModels: [try MappingModel(inferredFrom: model, to: model)])
    job.dropsMirroring = true
    return "its own model, \(try layout(path(file), model)), \(try outcome(of: job))"
  }

  private func layout(_ path: String, _ model: ManagedObjectModel) throws -> String {
    let connection = try StoreConnection.openStore(readingAt: path)
    let (found, predicted) = (try StoreSchema(model: model, probing: connection), StoreSchema(model: model))
    for (a, b) in zip(found.tables, predicted.tables) {
      guard a.name == b.name, Set(a.columns.map(\.name)) == Set(b.columns.map(\.name)) else {
        return "layout differs in \(a.name)"
      }
    }
    for (a, b) in zip(found.joinTables, predicted.joinTables) where a != b { return "layout differs in \(a.name)" }
    return "layout as predicted"
  }

  private func outcome(ofJob manifest: String) throws -> String {
    try outcome(
      of: JobLoader(manifestPath: manifest, logger: Logger(label: "corpus") { _ in SwiftLogNoOpLogHandler() }).job())
  }

  private func outcome(of job: MigrationJob) throws -> String {
    let manager = MigrationManager(job)
    let hops = manager.job.steps.map { [$0.sourceModel.name] + $0.passedVersions + [$0.destinationModel.name] }
    let summary = try manager.run()
    let report = try Verifier(job: manager.job).run()
    let made = "\(hops.map { $0.joined(separator: " > ") }.joined(separator: " | ")): \(summary.objects) objects"
    return made + (report.isClean ? ", verified" : ", verify says: \(report.findings.first?.description ?? "")")
  }

  // MARK: Mapping models

  /// Per mapping model: whether its YAML says the same, and whether it runs on a made-up store of its source model.
  func mappingLines(_ folder: TemporaryFolder) -> [String] {
    let versions = self.versions()
    return ending("xcmappingmodel", "cdm").enumerated().map { number, file in
      "mapping \(file): " + mappingLine(file, number, versions, folder)
    }
  }

  private func mappingLine(
    _ file: String, _ number: Int, _ versions: [(file: String, model: ManagedObjectModel)], _ folder: TemporaryFolder
  ) -> String {
    do {
      let xcode = try XcodeMappingModel(contentsOf: path(file))
      var pair: (ManagedObjectModel, ManagedObjectModel)?
      var fit = ""
      search: for wanted in ["hashes", "names"] {
        for (_, source) in versions {
          for (_, destination) in versions where source.name != destination.name {
            let found: String =
              switch xcode.fit(from: source, to: destination) {
              case .hashes: "hashes"
              case .names: "names"
              case .none: ""
              }
            guard found == wanted else { continue }
            (pair, fit) = ((source, destination), found)
            break search
          }
        }
      }
      guard let (source, destination) = pair else { return "no two versions of the project fit" }
      let says = "\(source.name) > \(destination.name) by \(fit), "
      do {
        let mapping = try xcode.mappingModel(from: source, to: destination)
        let yaml = try write(mapping.yaml, "mapping-\(number).mapping.yaml", folder)
        guard try MappingModel(contentsOfYAML: yaml).yaml == mapping.yaml else { return says + "its YAML differs" }
        let store = folder.file("made-\(number).sqlite")
        try StoreSynthesis(model: source, rows: 40, seed: 7).write(to: store)
        var job = MigrationJob(
          name: "mapping", sourcePath: store, destinationPath: folder.file("mapped-\(number)/made.sqlite"),
          sourceModel: source, destinationModel: destination, mappingModels: [mapping])
        job.unregisteredPolicies = .default
        return says + "converted, " + (try outcome(of: job))
      } catch { return says + text(of: error) }
    } catch { return text(of: error) }
  }

  // MARK: Files

  private func write(_ text: String, _ name: String, _ folder: TemporaryFolder) throws -> String {
    let path = folder.file(name)
    try Data(text.utf8).write(to: URL(filePath: path))
    return path
  }

  private func quoted(_ path: String) -> String { "'" + path.replacing("'", with: "''") + "'" }
}
