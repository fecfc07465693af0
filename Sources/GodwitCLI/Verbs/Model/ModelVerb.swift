import ArgumentParser
import GodwitManifest
import GodwitModel
import GodwitXcode

struct HashOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Prefer the version hashes in a VersionInfo.plist, a .cdm or a store that Core Data wrote over computed ones.",
      valueName: "FILE"), completion: .file())
  var hashes: [String] = []
}

/// The verbs about models.
struct ModelVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "model",
    abstract: "Show version hashes, the SQL schema, or what changed between two models; extract a store's model.",
    subcommands: [ModelHashVerb.self, ModelSchemaVerb.self, ModelDiffVerb.self, ModelExtractVerb.self])

  /// The model that a MODEL argument names.
  ///
  /// - Parameter hashes: Files whose published hashes take precedence over computed ones.
  static func read(_ text: String, hashes: [String] = []) throws -> ManagedObjectModel {
    let reference = ModelReference(parsing: text)
    let bundle = try bundle(at: reference.path, hashes: hashes)
    return try listingReadable(in: bundle) {
      try reference.version.map { try bundle.model(named: $0) } ?? bundle.currentModel()
    }
  }

  /// Adds the versions that can be read to the error that one cannot.
  static func listingReadable<Result>(in bundle: ModelBundle, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch var error as GodwitError where error.code == .missingInput {
      let readable = bundle.readableVersions
      if readable.count < bundle.versions.count, !readable.isEmpty {
        let list = "these versions can be read: " + readable.map { "'\($0)'" }.joined(separator: ", ")
        error.cause = (error.cause.map { $0 + "\n" } ?? "") + list
      }
      throw error
    }
  }

  /// The bundle at a path, its versions with the hashes published for them.
  static func bundle(at path: String, hashes: [String]) throws -> ModelBundle {
    var bundle = try ModelBundle(contentsOf: path)
    for file in hashes { try bundle.adopt(PublishedVersionHashes(contentsOf: file)) }
    return bundle
  }

  static let help = ArgumentHelp(
    "A .xcdatamodel or .mom; a .xcdatamodeld or .momd (its current version); a folder with one of them in it; or PATH#Version Name.",
    valueName: "MODEL")
}
