import ArgumentParser
import Foundation
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode

struct ModelExtractVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "extract", abstract: "Write the models that are inside stores as Xcode's files.",
    discussion: """
      The version hashes of what was written are compared with those of the model inside the store. What Xcode's files \
      cannot hold is listed.

      Several stores make a .xcdatamodeld with one version for each model. Stores with equal version hashes give one \
      version. The current version is the newest by version identifiers, or, if they do not tell the versions apart, that \
      of the last store.
      """)

  @Argument(help: ArgumentHelp("The stores.", valueName: "STORE"), completion: .file()) var stores: [String]
  @Option(
    name: [.customShort("o"), .long],
    help: ArgumentHelp(
      "The new .xcdatamodeld or, of one store, .xcdatamodel.", valueName: "X.xcdatamodeld"), completion: .file())
  var output: String
  @Option(
    help: ArgumentHelp(
      "The name of the version, for one store; by default its version identifier, else the name of the output.",
      valueName: "NAME"))
  var name: String?
  @OptionGroup var format: FormatOptions

  func validate() throws {
    guard ["xcdatamodeld", "xcdatamodel"].contains(URL(filePath: output).pathExtension) else {
      throw ValidationError("expected -o with a name that ends in .xcdatamodeld or .xcdatamodel, found '\(output)'")
    }
    if let name, !ModelExtraction.isFileName(name) {
      throw ValidationError("expected --name to be usable as the name of a file, found '\(name)'")
    }
    guard stores.count > 1 else { return }
    if name != nil { throw ValidationError("expected --name with one store, found \(stores.count) stores") }
    if URL(filePath: output).pathExtension != "xcdatamodeld" {
      throw ValidationError("expected -o with a name that ends in .xcdatamodeld for several stores, found '\(output)'")
    }
  }

  static var isForOutput: Bool { false }

  static var outputs: [OutputKind] { [.modelExtract] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let sources = try stores.map(Self.source)
    let made = try ModelExtraction(sources, version: name, to: output)
    for source in sources where !source.fits {
      session.diagnostics.write(
        "godwit: warning: the model inside '\(source.store)' is of another version than the store's objects\n")
    }
    switch format.format {
    case .json: try session.print(json: Record(made, path: output), as: .modelExtract)
    case .text: session.output.write(summary(of: made))
    }
    return 0
  }

  private static func source(_ store: String) throws -> ModelExtraction.Source {
    let metadata = try StoreMetadata(readingStoreAt: store)
    switch try StoredModel(inStoreAt: store, metadata: metadata) {
    case .fits(let found): return .init(store: store, cached: found, fits: true)
    case .differs(let found): return .init(store: store, cached: found, fits: false)
    case .inReceipt(let model, _):
      return .init(store: store, cached: CachedModel(model: model, omissions: []), fits: true)
    case .missing(let problem):
      throw GodwitError(
        .missingInput, "cannot extract a model from '\(store)': the store contains none", cause: problem,
        remedy: "take the .xcdatamodeld from the application's sources, or the .momd from the application")
    case .unreadable(var error):
      error.context = error.context ?? store
      throw error
    }
  }

  private func summary(of made: ModelExtraction) -> String {
    func count(_ version: ModelExtraction.Version) -> String {
      version.model.entities.count.counted("entity", "entities")
    }
    var text = ""
    if stores.count == 1, let only = made.versions.first {
      text = "\(output): version '\(only.name)' with \(count(only)), version hashes checked\n"
    } else {
      text =
        "\(output): \(made.versions.count.counted("version")), the current one '\(made.current)', version hashes checked\n"
    }
    for version in made.versions {
      if stores.count > 1 {
        text += "  '\(version.name)' with \(count(version)), from \(version.stores.joined(separator: ", "))\n"
      }
      text += version.omissions.map { "  left out     \($0)\n" }.joined()
    }
    return text
  }

  private struct Record: Encodable {
    struct Version: Encodable {
      let version: String
      let stores, entities: [String]
      let versionChecksum: String
      let fitsStores: Bool
      let omissions: [String]
    }

    let path, version: String
    let entities: [String]
    /// As `NSManagedObjectModel.versionChecksum`.
    let versionChecksum: String
    /// Whether each model is of the version that its store's metadata names.
    let fitsStore: Bool
    /// Parts of the models that Xcode's files cannot hold.
    let omissions: [String]
    let versions: [Version]

    init(_ made: ModelExtraction, path: String) {
      self.path = path
      version = made.current
      let current = made.versions.first { $0.name == made.current }?.model
      (entities, versionChecksum) = (current?.entityNames ?? [], current?.versionChecksum ?? "")
      fitsStore = made.versions.allSatisfy(\.fits)
      omissions = made.versions.flatMap(\.omissions)
      versions = made.versions.map {
        Version(
          version: $0.name, stores: $0.stores, entities: $0.model.entityNames,
          versionChecksum: $0.model.versionChecksum, fitsStores: $0.fits, omissions: $0.omissions)
      }
    }
  }
}
