import ArgumentParser
import Foundation
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode

struct ModelExtractVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "extract", abstract: "Write the model that is inside a store as Xcode's files.",
    discussion: """
      The version hashes of what was written are compared with those of the model inside the store. What Xcode's files \
      cannot hold is listed.
      """)

  @Argument(help: ArgumentHelp("The store.", valueName: "STORE"), completion: .file()) var store: String
  @Option(
    name: [.customShort("o"), .long],
    help: ArgumentHelp("The new .xcdatamodeld or .xcdatamodel.", valueName: "X.xcdatamodeld"), completion: .file())
  var output: String
  @Option(
    help: ArgumentHelp(
      "The name of the version; by default the store's version identifier, else the name of the output.",
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
  }

  static var isForOutput: Bool { false }

  static var outputs: [OutputKind] { [.modelExtract] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let metadata = try StoreMetadata(readingStoreAt: store)
    let cached: CachedModel
    var fits = true
    switch try StoredModel(inStoreAt: store, metadata: metadata) {
    case .fits(let found): cached = found
    case .differs(let found): (cached, fits) = (found, false)
    case .inReceipt(let model, _): cached = CachedModel(model: model, omissions: [])
    case .missing(let problem):
      throw GodwitError(
        .missingInput, "cannot extract a model from '\(store)': the store contains none", cause: problem,
        remedy: "take the .xcdatamodeld from the application's sources, or the .momd from the application")
    case .unreadable(var error):
      error.context = error.context ?? store
      throw error
    }
    let made = try ModelExtraction(cached, version: name, to: output, like: store)
    if !fits {
      session.diagnostics.write(
        "godwit: warning: the model inside '\(store)' is of another version than the store's objects\n")
    }
    switch format.format {
    case .json:
      try session.print(
        json: Record(
          path: output, version: made.version, entities: cached.model.entityNames,
          versionChecksum: cached.model.versionChecksum, fitsStore: fits, omissions: made.omissions), as: .modelExtract)
    case .text:
      let count = cached.model.entities.count.counted("entity", "entities")
      session.output.write(
        "\(output): version '\(made.version)' with \(count), version hashes checked\n"
          + made.omissions.map { "  left out     \($0)\n" }.joined())
    }
    return 0
  }

  private struct Record: Encodable {
    let path, version: String
    let entities: [String]
    /// As `NSManagedObjectModel.versionChecksum`.
    let versionChecksum: String
    /// Whether the model is of the version that the store's metadata names.
    let fitsStore: Bool
    /// Parts of the model that Xcode's files cannot hold.
    let omissions: [String]
  }
}
