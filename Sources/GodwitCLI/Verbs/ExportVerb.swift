import ArgumentParser
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode

struct ExportVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Write objects as JSON lines, CSV or plain SQLite tables.",
    discussion: """
      Dates are ISO 8601 in UTC. Decimals are text in JSON lines and CSV, and numbers in SQLite. In JSON lines and CSV, binary data is base64 and related objects \
      are object URIs; in SQLite, binary data is a BLOB and related objects are keys. The store is never written.

      --raw needs no model: it writes the rows of tables with the names and values that SQLite has. Dates stay numbers, \
      seconds since 2001 in UTC. Of an XML or binary store the tables are its entities, under the names of the file; the attributes of a binary store have no names there, and are value1, value2 and so on.
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
      "With --format sqlite: write decimals as numbers, which compare as such, or as text with all digits.",
      valueName: "number|text"))
  var decimals: DecimalForm?
  @Option(
    help: ArgumentHelp(
      "Write dates as ISO 8601, or as seconds since 1970 (unix) or 2001 (coredata).", valueName: "iso|unix|coredata"))
  var dates: DateForm?
  @Option(
    help: ArgumentHelp(
      "In JSON lines and CSV: write related objects as URIs or keys, or of a to-many their number.",
      valueName: "uris|keys|count"))
  var links: LinkForm?
  @Option(
    help: ArgumentHelp(
      "In JSON lines: write transformables as a string in each row, or as the JSON of their archives.",
      valueName: "text|json"))
  var transformables: TransformableForm?
  @Option(
    help: ArgumentHelp(
      "In JSON lines and CSV: write binary values as base64, or decode those that are JSON, a property list or an archive, as those of a .codable property.",
      valueName: "base64|decoded"))
  var binaries: BinaryForm?
  @Option(
    help: ArgumentHelp(
      "In CSV: write this for nil. By default nil is empty, and an empty text \"\".", valueName: "TEXT"))
  var null: String?
  @Option(
    help: ArgumentHelp(
      "The store's model, a bundle or one version; by default the model inside the store, else that of its receipt.",
      valueName: "MODEL"),
    completion: .file())
  var model: String?
  @Flag(help: "Also write objects of subentities.") var subentities = false
  @Flag(help: "Write rows of tables as they are, without a model: --all, or those of --table.") var raw = false
  @Option(help: ArgumentHelp("With --raw: write this table. May be repeated.", valueName: "TABLE"))
  var table: [String] = []
  @Option(
    name: [.customShort("o"), .long],
    help: ArgumentHelp("Write to a new file; with --all, JSON lines and CSV go to a new folder.", valueName: "PATH"),
    completion: .file())
  var output: String?

  func validate() throws {
    if raw {
      for (option, isGiven) in [
        ("--entity", !entity.isEmpty), ("--where", condition != nil), ("--model", model != nil),
        ("--subentities", subentities),
      ] where isGiven {
        throw ValidationError("expected either --raw or \(option), found both: --raw knows tables, not entities")
      }
      guard all != !table.isEmpty else {
        throw ValidationError("expected one of --table TABLE and --all with --raw, found \(all ? "both" : "none")")
      }
    } else if !table.isEmpty {
      throw ValidationError("expected --raw with --table, found none")
    }
    try checkForms()
    guard decimals == nil || format == .sqlite && !raw else {
      throw ValidationError("expected --format sqlite, without --raw, with --decimals, found none")
    }
    guard raw || all || !entity.isEmpty else { throw ValidationError("expected --entity E or --all, found none") }
    guard !all || entity.isEmpty else { throw ValidationError("expected either --entity or --all, found both") }
    guard !all || !subentities else {
      throw ValidationError("expected either --subentities or --all, found both: --all writes each entity")
    }
    // Rows say of which table they are, so all tables can go to standard output.
    guard output == nil, all && !raw || format == .sqlite else { return }
    throw ValidationError(
      format == .sqlite
        ? "expected -o FILE with --format sqlite, found none" : "expected -o FOLDER with --all, found none")
  }

  /// Refuses a form that the format does not have.
  private func checkForms() throws {
    func expect(_ isGiven: Bool, _ option: String, _ isPossible: Bool, _ place: String) throws {
      guard !isGiven || isPossible else { throw ValidationError("expected \(place) with \(option), found none") }
    }
    try expect(dates != nil, "--dates", !raw, "objects, without --raw,")
    try expect(links != nil, "--links", !raw && format != .sqlite, "--format jsonl or csv, without --raw,")
    try expect(transformables != nil, "--transformables", !raw && format == .jsonl, "--format jsonl, without --raw,")
    try expect(binaries != nil, "--binaries", !raw && format != .sqlite, "--format jsonl or csv, without --raw,")
    try expect(null != nil, "--null", format == .csv, "--format csv")
    let isField = null.map { ObjectWriter.field($0) == $0 } ?? true
    guard isField else {
      throw ValidationError("expected a text without commas, quotes, line breaks and outer spaces after --null")
    }
  }

  private var style: ExportStyle {
    var style = ExportStyle()
    if let dates { style.dates = dates }
    if let links { style.links = links }
    if let transformables { style.transformables = transformables }
    if let binaries { style.binaries = binaries }
    if let null { style.null = null }
    return style
  }

  static var outputs: [OutputKind] { [.export, .exportRaw] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let content = try content()
    do { try session.warnOfLogs(besideStoreAt: store) } catch let error as GodwitError where raw {
      // Rows of a damaged file are written, and its damage is told after them.
      guard error.code == .dataWrong else { throw error }
    }
    let complaint = try complaint(content)
    if let complaint, !raw { throw damage(complaint) }
    if case .objects(let selection, let reader) = content { try tellRounded(selection, reader, session) }
    switch (format, output) {
    case (.sqlite, let output?):
      let inexact = try content.writeDatabase(
        to: output, like: store, decimals: decimals ?? .number, dates: style.dates)
      if inexact > 0 {
        session.warn(
          "\(inexact.counted("decimal")) \(inexact == 1 ? "has" : "have") more digits than a number holds, or no value: `--decimals text` writes the digits"
        )
      }
    case (_, let output?) where all: try writeFolder(output, content)
    case (_, let output?): try writeFile(output, content)
    default:
      try content.write(as: format, style: style) { text in
        session.output.write(data: text)
        return !session.output.isClosed
      }
    }
    if case .rows(_, let source) = content, let error = source.damage.error(store, complaint) { throw error }
    return 0
  }

  /// Tells of decimals of an XML or binary store that are not written as they are.
  private func tellRounded(_ selection: ObjectSelection, _ reader: ObjectReader, _ session: CommandSession) throws {
    let entities = Set(selection.entities)
    for (subject, count) in try RoundedDecimals(of: reader).counts.sorted(by: { Text($0.key) < Text($1.key) }) {
      guard let entity = subject.split(separator: ".").first, entities.contains(String(entity)) else { continue }
      let verb =
        count == 1 ? "has more digits than a double, and is rounded" : "have more digits than a double, and are rounded"
      session.warn("\(count.counted("value")) of \(subject) \(verb)")
    }
  }

  /// The first finding of SQLite's quick check; nil for a sound store. Where two pages have changed places, rows of one table
  /// are read as those of another, and nothing else tells.
  ///
  /// With `--all` the whole store is checked, else the tables that are read: a small entity of a large store is written at
  /// once.
  private func complaint(_ content: ExportContent) throws -> String? {
    do {
      guard try StoreFiles(path: store).type == .sqlite else { return nil }
      let connection = try DatabaseTables.open(store)
      defer { try? connection.close() }
      let tables: [String?] = all ? [nil] : content.tables
      for table in tables {
        let found = try connection.complaints(
          about: StoreConnection.sourceSchema, of: table, isFull: false, limit: 1)
        if let first = found.first { return first }
      }
      return nil
    } catch let error as GodwitError where raw && error.code == .dataWrong { return error.message }
  }

  private func damage(_ complaint: String) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot export from '\(store)': SQLite finds the store damaged", cause: complaint,
      remedy: GodwitError.damageRemedy + "; or write what SQLite reads of its tables with --raw",
      safe: "nothing was written, and the store is untouched")
  }

  private func content() throws -> ExportContent {
    if raw {
      let source = try RawStore(path: store)
      return .rows(try all ? source.tables : table.withoutRepeats().map { try source.table(named: $0) }, source)
    }
    let metadata = try StoreMetadata(readingStoreAt: store)
    let fitting = try fittingModel(metadata)
    let selection =
      try all
      ? ObjectSelection(allOf: fitting, where: condition)
      : ObjectSelection(entity, subentities: subentities, of: fitting, where: condition)
    let reader = try ObjectReader(path: store, model: fitting)
    try reader.checkEntities(selection.entities)
    return .objects(selection, reader)
  }

  /// The version that fits the store: of the model that was named, else the one that the store or its receipt carries.
  private func fittingModel(_ metadata: StoreMetadata) throws -> ManagedObjectModel {
    if let model {
      return try ModelVersions(references: [model])
        .model(fitting: metadata, path: store, isJob: false, takesConfigurations: true)
    }
    let cause: String
    switch try StoredModel(inStoreAt: store, metadata: metadata) {
    case .fits(let cached): return cached.model
    case .inReceipt(let model, _): return model
    case .missing(let problem): cause = "the store contains no model" + (problem.map { ", and \($0)" } ?? "")
    case .differs: cause = "the model inside the store is of another version"
    case .unreadable(let error): cause = error.message
    }
    throw GodwitError(
      .usage, "cannot export from '\(store)': expected --model, found none", cause: cause,
      remedy: "give the model of the store with --model MODEL, or export its tables as they are with --raw")
  }

  // MARK: Files

  /// One file for each entity or table, in a new folder.
  private func writeFolder(_ path: String, _ content: ExportContent) throws {
    let folder = try NewFolder(path: path, like: store)
    do {
      for (name, part) in content.parts {
        guard !name.contains("/"), !name.hasPrefix(".") else {
          throw GodwitError(
            .usage, "cannot export \(content.noun) '\(name)' to a file of its name: expected the name of a file",
            remedy: "export it with --\(content.noun) and -o FILE, or with --format sqlite")
        }
        try writeFile("\(folder.temporary)/\(name).\(format.rawValue)", part)
      }
      try folder.finish()
    } catch {
      folder.discard()
      throw error
    }
  }

  private func writeFile(_ path: String, _ content: ExportContent) throws {
    try ExportFile.write(to: OutputFile(path, "an export", like: [store])) { send in
      try content.write(as: format, style: style) { text in
        try send(text)
        return true
      }
    }
  }
}
