import ArgumentParser
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode

struct ExportVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Print all objects of an entity as JSON lines or CSV.",
    discussion: """
      Dates are ISO 8601 in UTC, binary data is base64, decimals are strings, related objects are object URIs. The \
      store is never written.
      """)

  @Argument(help: ArgumentHelp("The store.", valueName: "STORE")) var store: String

  @Option(help: ArgumentHelp("Print the objects of this entity.", valueName: "E")) var entity: String
  @Option(help: ArgumentHelp("Print JSON lines or CSV.", valueName: "jsonl|csv")) var format: ExportFormat = .jsonl
  @Option(
    help: ArgumentHelp(
      "The store's model, a bundle or one version; by default the model inside the store.", valueName: "MODEL")
  )
  var model: String?
  @Flag(help: "Also print objects of subentities.") var subentities = false
  @Option(name: [.customShort("o"), .long], help: ArgumentHelp("Write to a new file.", valueName: "FILE"))
  var output: String?

  mutating func run(in session: CommandSession) throws -> Int32 {
    let metadata = try StoreMetadata(readingStoreAt: store)
    let fitting = try fittingModel(metadata)
    guard fitting.entity(entity) != nil else {
      throw GodwitError(
        .usage,
        "cannot export entity '\(entity)': model '\(fitting.name)' has no such entity"
          + Spelling.suggestion(for: entity, among: fitting.entityNames),
        remedy: "list the entities with `godwit inspect`")
    }
    let reader = try ObjectReader(path: store, model: fitting)
    let entities = subentities ? fitting.family(of: entity).map(\.name) : [entity]
    guard let output else {
      try write(entities, from: reader) { text in
        session.output.write(data: text)
        return !session.output.isClosed
      }
      return 0
    }
    let file = try ExportFile(path: output, like: store)
    do {
      try write(entities, from: reader) { text in
        try file.write(text)
        return true
      }
      try file.finish()
    } catch {
      file.discard()
      throw error
    }
    return 0
  }

  /// The version that fits the store: of the model that was named, else of the one that the store carries.
  private func fittingModel(_ metadata: StoreMetadata) throws -> ManagedObjectModel {
    if let model { return try ModelVersions(references: [model]).model(fitting: metadata, path: store) }
    let cause: String
    switch try StoredModel(inStoreAt: store, metadata: metadata) {
    case .fits(let cached): return cached.model
    case .missing: cause = "the store contains no model"
    case .differs: cause = "the model inside the store is of another version"
    case .unreadable(let error): cause = error.message
    }
    throw GodwitError(
      .usage, "cannot export from '\(store)': expected --model, found none", cause: cause,
      remedy: "give the model of the store with --model MODEL")
  }

  /// Gathers records into pieces of 64 KiB. Ends when `send` returns false.
  private func write(_ entities: [String], from reader: ObjectReader, send: (String) throws -> Bool) throws {
    let writer = ObjectWriter(format: format, entities: entities, reader: reader)
    var piece = writer.head
    try reader.forEachObject(of: entities) { object in
      piece += writer.record(object)
      guard piece.utf8.count >= 1 << 16 else { return true }
      let goesOn = try send(piece)
      piece = ""
      return goesOn
    }
    if !piece.isEmpty { _ = try send(piece) }
  }
}
