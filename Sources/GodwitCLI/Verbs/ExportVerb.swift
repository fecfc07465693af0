import ArgumentParser
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode

struct ExportVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Write objects as JSON lines, CSV or plain SQLite tables.",
    discussion: """
      Dates are ISO 8601 in UTC and decimals are text. In JSON lines and CSV, binary data is base64 and related objects \
      are object URIs; in SQLite, binary data is a BLOB and related objects are keys. The store is never written.
      """)

  @Argument(help: ArgumentHelp("The store.", valueName: "STORE"), completion: .file()) var store: String

  @Option(help: ArgumentHelp("Write the objects of this entity. May be repeated.", valueName: "E"))
  var entity: [String] = []
  @Flag(help: "Write all entities: one file for each in the new folder of -o, or one SQLite file.") var all = false
  @Option(
    name: .customLong("where"),
    help: ArgumentHelp("Write only objects that fulfil this predicate, such as \"age >= 18\".", valueName: "PREDICATE"))
  var condition: String?
  @Option(help: ArgumentHelp("Write JSON lines, CSV or a SQLite database.", valueName: "jsonl|csv|sqlite"))
  var format: ExportFormat = .jsonl
  @Option(
    help: ArgumentHelp(
      "The store's model, a bundle or one version; by default the model inside the store.", valueName: "MODEL"),
    completion: .file())
  var model: String?
  @Flag(help: "Also write objects of subentities.") var subentities = false
  @Option(
    name: [.customShort("o"), .long],
    help: ArgumentHelp("Write to a new file; with --all, JSON lines and CSV go to a new folder.", valueName: "PATH"),
    completion: .file())
  var output: String?

  func validate() throws {
    guard all || !entity.isEmpty else { throw ValidationError("expected --entity E or --all, found none") }
    guard !all || entity.isEmpty else { throw ValidationError("expected either --entity or --all, found both") }
    guard !all || !subentities else {
      throw ValidationError("expected either --subentities or --all, found both: --all writes each entity")
    }
    guard output == nil, all || format == .sqlite else { return }
    throw ValidationError(
      format == .sqlite
        ? "expected -o FILE with --format sqlite, found none" : "expected -o FOLDER with --all, found none")
  }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let metadata = try StoreMetadata(readingStoreAt: store)
    let fitting = try fittingModel(metadata)
    let selection =
      try all
      ? ObjectSelection(allOf: fitting, where: condition)
      : ObjectSelection(entity, subentities: subentities, of: fitting, where: condition)
    let reader = try ObjectReader(path: store, model: fitting)
    switch (format, output) {
    case (.sqlite, let output?): try SQLiteExport.write(selection, from: reader, to: output, like: store)
    case (_, let output?) where all: try write(selection, from: reader, toFolder: output)
    case (_, let output?): try write(selection.groups, selection, from: reader, toFile: output)
    default:
      try write(selection.groups, selection, from: reader) { text in
        session.output.write(data: text)
        return !session.output.isClosed
      }
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

  /// One file for each entity.
  private func write(_ selection: ObjectSelection, from reader: ObjectReader, toFolder path: String) throws {
    let folder = try NewFolder(path: path, like: store)
    do {
      for entity in selection.entities {
        guard !entity.contains("/"), !entity.hasPrefix(".") else {
          throw GodwitError(
            .usage, "cannot export entity '\(entity)' to a file of its name: expected the name of a file",
            remedy: "export it with --entity and -o FILE, or with --format sqlite")
        }
        try write(
          [[entity]], selection, from: reader, toFile: "\(folder.temporary)/\(entity).\(format.rawValue)")
      }
      try folder.finish()
    } catch {
      folder.discard()
      throw error
    }
  }

  private func write(
    _ groups: [[String]], _ selection: ObjectSelection, from reader: ObjectReader, toFile path: String
  ) throws {
    let file = try ExportFile(path: path, like: store)
    do {
      try write(groups, selection, from: reader) { text in
        try file.write(text)
        return true
      }
      try file.finish()
    } catch {
      file.discard()
      throw error
    }
  }

  /// Gathers records into pieces of 64 KiB. Ends when `send` returns false.
  private func write(
    _ groups: [[String]], _ selection: ObjectSelection, from reader: ObjectReader, send: (String) throws -> Bool
  ) throws {
    let writer = ObjectWriter(format: format, entities: groups.flatMap(\.self), reader: reader)
    var piece = writer.head
    var goesOn = true
    for group in groups where goesOn {
      try reader.forEachObject(of: group, where: selection.condition) { object in
        piece += writer.record(object)
        guard piece.utf8.count >= 1 << 16 else { return true }
        goesOn = try send(piece)
        piece = ""
        return goesOn
      }
    }
    if !piece.isEmpty { _ = try send(piece) }
  }
}
