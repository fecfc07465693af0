import Foundation
import GodwitJob
import GodwitModel
import Yams

extension JobManifest {
  /// The known keys, by the map that they belong to; the empty name is the top level.
  static let keys: [String: [String]] = [
    "": [
      "godwit", "job", "source", "destination", "models", "destination-model", "mappings", "assume-source-model",
      "chunks", "memory", "on-invalid", "merge-models", "configuration", "destination-type", "cloudkit",
      "version-order", "mapping-search", "layout", "unregistered-policies", "stages", "on-loss", "accept-losses",
      "check-source",
      "receipt", "on-success", "on-failure", "stores",
    ],
    "destination": ["path", "existing", "keep-old"],
    "source": ["list", "merge"],
    "stores": ["results", "max-failed", "jobs"],
    "chunks": ["rows", "by"],
    "on-invalid": ["quarantine"],
    "quarantine": ["max-rows", "max-percent"],
    "stages": ["step", "before", "after"],
    "layout": ["from", "names", "strict"],
  ]
  static let rowsInChunk = 1...10_000_000
  static let memoryBudget = ByteCount.mebibytes(16)...ByteCount.gibibytes(1024)

  static func keys(in map: String) -> [String] { keys[map] ?? [] }

  /// The line to write for a key of the top level that belongs into a map, or is a word that another key takes.
  private static func placeElsewhere(_ key: String) -> String? {
    if let word = Existing(rawValue: key) { return word.line }
    if let rule = MigrationJob.LossRule(rawValue: key) { return "on-loss: \(rule.rawValue)" }
    let map = ["destination", "layout", "stores", "chunks"].first { keys(in: $0).contains(key) }
    return map.map { "\($0): {\(key): …}" }
  }

  /// Reads a job manifest.
  ///
  /// - Parameter overrides: Keys that are set from outside, in order: a later one wins.
  /// - Throws: `GodwitError`: 66 when there is no such file, 77 when it may not be read, 78 with line
  ///   and column when it is wrong.
  package init(contentsOf path: String, overrides: [ManifestOverride] = []) throws {
    try self.init(YAMLFile(contentsOf: path, what: Self.what), overrides)
  }

  /// Reads a manifest from standard input.
  init(standardInputWith overrides: [ManifestOverride]) throws { try self.init(YAMLFile(what: Self.what), overrides) }

  /// Reads the text of a manifest that is yet to be written.
  ///
  /// - Parameter path: Where it will be, from whose folder relative paths count.
  init(text: String, path: String) throws {
    try self.init(YAMLFile(bytes: Array(text.utf8), path: path, what: Self.what), [])
  }

  private static let what = "job manifest"

  private init(_ file: YAMLFile, _ overrides: [ManifestOverride]) throws {
    try self.init(reading: YAMLReader(file: file.setting(overrides)))
  }

  init(reading reader: YAMLReader) throws {
    // A file of the other kind, or without its version, is told so before its keys are judged.
    let found = try reader.entries(reader.file.root, key: "")
    try reader.checkVersion(found.first { $0.key == "godwit" }, key: "godwit", among: found)
    try Self.refuseFleet(found, reader)
    let top = try reader.entries(reader.file.root, key: "", known: Self.keys(in: ""), elsewhere: Self.placeElsewhere)

    file = reader.file.path
    job = Self.name(ofFile: file)
    if let node = top["job"]?.value {
      job = try reader.text(node, key: "job", expected: "a name")
      guard !job.contains(where: { $0.isNewline || $0 == "/" }) else {
        throw reader.wrong("job", expected: "a name without slashes or line breaks", node)
      }
    }
    locations = top.mapValues(\.location)
    let read = try Self.source(Self.required("source", top, reader), reader)
    (source, isList, merge, mergePatterns) = (read.path, read.isList, read.merge, read.mergePatterns)
    if let entry = top["stores"] { stores = try Self.stores(entry, reader) }
    if top["job"] == nil {
      if file == YAMLFile.standardInput {
        job = URL(filePath: source.raw).deletingPathExtension().lastPathComponent
      } else if job != Self.stem(ofFile: file) {
        earlierName = Self.stem(ofFile: file)
      }
    }
    destination = try Self.destination(Self.required("destination", top, reader), reader)
    models = try reader.paths(Self.required("models", top, reader).value, key: "models", fragment: true)
    try readModelKeys(top, reader)
    try readRunKeys(top, reader)
    try checkMerge(reader)
    try readPattern()
    try checkDestination(top, reader)
  }

  /// The name of a job whose manifest has none: that of its file, and for a `job.yaml` that of the folder.
  package static func name(ofFile path: String) -> String {
    let stem = Self.stem(ofFile: path)
    guard stem == "job", ["yaml", "yml"].contains(URL(filePath: path).pathExtension.lowercased()) else { return stem }
    let folder = URL(filePath: path).standardizedFileURL.deletingLastPathComponent().lastPathComponent
    return folder.isEmpty || folder == "/" || folder.contains(where: \.isNewline) ? stem : folder
  }

  private static func stem(ofFile path: String) -> String {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    return name.lastIndex(of: ".").flatMap { $0 > name.startIndex ? String(name[..<$0]) : nil } ?? name
  }

  private typealias Entries = YAMLReader.Entries

  private static func required(_ key: String, _ top: Entries, _ reader: YAMLReader) throws -> YAMLReader.Entry {
    guard let entry = top[key] else {
      throw reader.error(
        "expected the key '\(key)', found none",
        at: top["godwit"]?.location ?? reader.file.location(of: reader.file.root), remedy: "add `\(key): PATH`")
    }
    return entry
  }

  /// The words for what happens to what is at the destination.
  private enum Existing: String, CaseIterable {
    case fail, replace, append
    case inPlace = "in-place"

    /// The line of a manifest that says so.
    var line: String {
      switch self {
      case .fail: "destination: PATH"
      case .inPlace: "destination: {existing: in-place}"
      case .replace, .append: "destination: {path: PATH, existing: \(rawValue)}"
      }
    }
  }

  /// A path alone, or a map with it.
  private static func destination(_ entry: YAMLReader.Entry, _ reader: YAMLReader) throws -> Destination {
    guard case .mapping = entry.value else {
      return Destination(path: try reader.path(entry.value, key: entry.key), existing: .fail)
    }
    let entries = try reader.entries(entry.value, key: entry.key, known: keys(in: entry.key))
    let word: Existing = try entries["existing"].map { try reader.choice($0.value, key: $0.key) } ?? .fail
    let path = try entries["path"].map { try reader.path($0.value, key: $0.key) }
    let keepsOld = try entries["keep-old"].map { try reader.flag($0.value, key: $0.key) }
    if word != .inPlace, path == nil {
      throw reader.error(
        "expected the key 'path' or 'existing: in-place' in 'destination', found neither", at: entry.location,
        remedy: "write `\(word.line)`")
    }
    if word == .inPlace, let entry = entries["path"] {
      throw reader.error(
        "expected either 'path' or 'existing: in-place' in 'destination', found both", at: entry.location,
        remedy: "remove one of the two: a job in place replaces its source")
    }
    if [.fail, .append].contains(word), let entry = entries["keep-old"] {
      throw reader.error(
        "expected 'existing: replace' or 'existing: in-place' beside 'keep-old', found '\(word.rawValue)'",
        at: entry.location, remedy: "remove 'keep-old': no store is replaced")
    }
    let rule: MigrationJob.ExistingDestinationRule =
      switch word {
      case .fail: .fail
      case .append: .append
      case .replace: .replace(keepsOld: keepsOld ?? false)
      case .inPlace: .inPlace(keepsOld: keepsOld ?? true)
      }
    return Destination(path: path, existing: rule)
  }

  private mutating func readModelKeys(_ top: Entries, _ reader: YAMLReader) throws {
    destinationModel = try top["destination-model"].map {
      try reader.located($0.value, key: $0.key, expected: "a model version name")
    }
    assumeSourceModel = try top["assume-source-model"].map {
      try reader.located($0.value, key: $0.key, expected: "a model version name")
    }
    if let entry = top["mappings"] { mappings = try Self.mappings(entry.value, reader) }
    if let entry = top["merge-models"] { mergeModels = try reader.paths(entry.value, key: entry.key, fragment: true) }
    configuration = try top["configuration"].map { try reader.text($0.value, key: $0.key, expected: "a name") }
    if let entry = top["version-order"] {
      var seen: Set<String> = []
      versionOrder = try reader.list(entry.value, key: entry.key).map { node in
        let name = try reader.text(node, key: entry.key, expected: "a model version name")
        guard seen.insert(name).inserted else {
          throw reader.error(
            "the version '\(name)' is listed twice in 'version-order'", at: reader.file.textLocation(of: node),
            remedy: "remove one of the two")
        }
        return name
      }
    }
    if let entry = top["layout"] { layout = try Self.layout(entry.value, reader) }
    if let entry = top["mapping-search"] { mappingSearch = try reader.paths(entry.value, key: entry.key) }
  }

  private mutating func readRunKeys(_ top: Entries, _ reader: YAMLReader) throws {
    if let entry = top["chunks"] { chunks = try Self.chunks(entry.value, reader) }
    if let entry = top["memory"] { memory = try Self.memory(entry.value, reader) }
    if let entry = top["on-invalid"] { onInvalid = try Self.onInvalid(entry.value, reader) }
    if let entry = top["on-loss"] { onLoss = try reader.choice(entry.value, key: entry.key) }
    if let entry = top["accept-losses"] {
      let expected = "a loss such as Person.age or \"Pet (filtered out)\""
      acceptLosses = try reader.items(entry.value, key: entry.key, expected: expected).map {
        try reader.located($0, key: entry.key, expected: expected)
      }
    }
    if let entry = top["destination-type"] {
      do { destinationType = try reader.choice(entry.value, key: entry.key) } catch var error as GodwitError {
        error.remedy =
          "an in-memory store (NSInMemoryStoreType) has no file, and a type of an application cannot be written; use sqlite, xml or binary"
        throw error
      }
    }
    if let entry = top["cloudkit"] { cloudkit = try reader.choice(entry.value, key: entry.key) }
    if let entry = top["check-source"] { checkSource = try reader.choice(entry.value, key: entry.key) }
    if let entry = top["receipt"] {
      let path = try reader.path(entry.value, key: entry.key)
      receipt = path.raw == "none" ? .none : .file(path)
    }
    if let entry = top["unregistered-policies"] {
      unregisteredPolicies = try reader.choice(entry.value, key: entry.key)
    }
    if let entry = top["stages"] {
      stages = try reader.list(entry.value, key: entry.key).map { try Self.stage($0, reader) }
    }
    onSuccess = try Self.commands(JobHooks.Key.success.rawValue, top, reader)
    onFailure = try Self.commands(JobHooks.Key.failure.rawValue, top, reader)
  }

  /// One shell command or a list of them.
  private static func commands(_ key: String, _ top: Entries, _ reader: YAMLReader) throws -> [Located<String>] {
    guard let entry = top[key] else { return [] }
    let expected = "a shell command"
    return try reader.items(entry.value, key: key, expected: expected).map {
      try reader.located($0, key: key, expected: expected)
    }
  }

  /// Words that people write in place of the two known ones.
  private static let mappingWords = [
    "lightweight": "inferred", "infer": "inferred", "inference": "inferred", "automatic": "auto", "default": "auto",
    "heavyweight": "auto", "custom": "auto", "models": "models-only", "modelsonly": "models-only",
    "models_only": "models-only",
  ]

  /// The words that `mappings` may be in place of paths.
  static let mappingKinds: [(word: String, mappings: Mappings)] = [
    ("auto", .auto), ("inferred", .inferred), ("models-only", .modelsOnly),
  ]

  private static func mappings(_ node: Node, _ reader: YAMLReader) throws -> Mappings {
    if case .scalar(let scalar) = node {
      if let kind = mappingKinds.first(where: { $0.word == scalar.string }) { return kind.mappings }
      if let word = Self.mappingWords[scalar.string.lowercased()] {
        throw reader.error(
          "expected auto, inferred, models-only or paths for 'mappings', found '\(scalar.string)'",
          at: reader.file.location(of: node),
          remedy: "write `mappings: \(word)`; a file of that name is `./\(scalar.string)`")
      }
    }
    let paths = try reader.paths(node, key: "mappings")
    if let word = paths.first(where: { path in mappingKinds.contains { $0.word == path.raw } }) {
      throw reader.error(
        "expected the path of a mapping model in the list 'mappings', found '\(word.raw)'", at: word.location,
        remedy: "write `mappings: \(word.raw)` alone; a file of that name is `./\(word.raw)`")
    }
    return .files(paths)
  }

  private static func chunks(_ node: Node, _ reader: YAMLReader) throws -> Chunks {
    var chunks = Chunks()
    if case .scalar(let scalar) = node, Int(scalar.string) != nil {
      throw reader.error(
        "expected keys and values for 'chunks', found '\(scalar.string)'", at: reader.file.location(of: node),
        remedy: "write `chunks: {rows: \(scalar.string)}`")
    }
    let entries = try reader.entries(node, key: "chunks", known: keys(in: "chunks"))
    if let entry = entries["rows"] { chunks.rows = try reader.integer(entry.value, key: "rows", in: rowsInChunk) }
    if let by = entries["by"] {
      for entry in try reader.entries(by.value, key: "by", expected: "mapping names with lists of predicates") {
        chunks.locations[entry.key] = entry.location
        chunks.by[entry.key] = try reader.items(entry.value, key: entry.key, expected: "a predicate").map {
          try reader.source($0, key: entry.key, expected: "a predicate")
        }
      }
    }
    return chunks
  }

  private static func memory(_ node: Node, _ reader: YAMLReader) throws -> ByteCount {
    let expected = "a size such as 64 MiB"
    if case .scalar(let scalar) = node, let number = Int(scalar.string), number > 0,
      number < memoryBudget.lowerBound.bytes
    {
      throw reader.error(
        "expected a size with its unit for 'memory', found '\(scalar.string)'", at: reader.file.location(of: node),
        remedy: "write `memory: \(max(number, 16)) MiB`")
    }
    guard let size = ByteCount(try reader.text(node, key: "memory", expected: expected)) else {
      throw reader.wrong("memory", expected: expected, node)
    }
    guard memoryBudget.contains(size) else {
      throw reader.wrong("memory", expected: size < memoryBudget.lowerBound ? "at least 16 MiB" : "at most 1 TiB", node)
    }
    return size
  }

  /// The values of `on-invalid`, in words.
  private static let onInvalidValues = "fail, keep or {quarantine: {max-rows: N}}"

  private static func onInvalid(_ node: Node, _ reader: YAMLReader) throws -> OnInvalid {
    if case .scalar(let scalar) = node {
      if scalar.string == "fail" { return .fail }
      if scalar.string == "keep" { return .keep }
      var error = reader.wrong("on-invalid", expected: onInvalidValues, node)
      // The word alone has no limit, and a run must have one.
      if Spelling.nearest(to: scalar.string, among: ["quarantine"]) != nil {
        error.remedy = "give the limit too: write `on-invalid: {quarantine: {max-rows: N}}`"
      }
      throw error
    }
    let outer = try reader.entries(
      node, key: "on-invalid", known: keys(in: "on-invalid"), expected: onInvalidValues)
    guard let quarantine = outer["quarantine"] else {
      throw reader.wrong("on-invalid", expected: onInvalidValues, node)
    }
    let limits = try reader.entries(
      quarantine.value, key: "quarantine", known: keys(in: "quarantine"), expected: "{max-rows: N}")
    let rows = try limits["max-rows"].map { try reader.integer($0.value, key: $0.key, in: 0...Int.max) }
    let percent = try limits["max-percent"].map { try reader.number($0.value, key: $0.key, in: 0...100) }
    guard rows != nil || percent != nil else {
      throw reader.error(
        "expected 'max-rows' or 'max-percent' in 'quarantine', found neither", at: quarantine.location,
        remedy: "give a limit for the rows that may be set aside")
    }
    return .quarantine(maxRows: rows, maxPercent: percent)
  }

  private static func layout(_ node: Node, _ reader: YAMLReader) throws -> Layout {
    if case .scalar(let scalar) = node, !YAMLReader.isNull(scalar) {
      throw reader.error(
        "expected keys and values for 'layout', found '\(scalar.string)'", at: reader.file.location(of: node),
        remedy: "write `layout: {from: \(scalar.string)}`")
    }
    let entries = try reader.entries(node, key: "layout", known: keys(in: "layout"))
    var layout = Layout()
    if let entry = entries["from"] { layout.from = try reader.path(entry.value, key: entry.key) }
    if let entry = entries["strict"] { layout.isStrict = try reader.flag(entry.value, key: entry.key) }
    if let entry = entries["names"] {
      let expected = "the name of a table or column"
      layout.names = try reader.entries(
        entry.value, key: entry.key, expected: "relationships with names of tables or columns"
      ).map { ($0.key, try reader.located($0.value, key: $0.key, expected: expected)) }
    }
    return layout
  }

  private static func stage(_ node: Node, _ reader: YAMLReader) throws -> Stage {
    let entries = try reader.entries(node, key: "stages", known: keys(in: "stages"))
    guard let step = entries["step"] else {
      throw reader.error(
        "expected the key 'step' in 'stages', found none", at: reader.file.location(of: node),
        remedy: "name the version that the step leads to: `step: NAME`")
    }
    return Stage(
      step: try reader.located(step.value, key: "step", expected: "a model version name"),
      before: try entries["before"].map { try reader.located($0.value, key: "before", expected: "a shell command") },
      after: try entries["after"].map { try reader.located($0.value, key: "after", expected: "a shell command") })
  }

  private func checkDestination(_ top: Entries, _ reader: YAMLReader) throws {
    if case .replace = destination.existing, receipt == .none, let entry = top["receipt"] {
      throw reader.error(
        "expected a receipt beside 'existing: replace', found 'none'", at: entry.location,
        remedy: "remove 'receipt: none': the job knows by its receipt what it made before")
    }
    let sources = merge.isEmpty ? [source] : merge
    guard let path = destination.path, sources.contains(where: { Self.sameFile($0.resolved, path.resolved) }) else {
      return
    }
    throw reader.error(
      "expected 'source' and 'destination' to be different files, found the same one", at: path.location,
      remedy: "name another destination"
        + (merge.isEmpty
          ? ", or write `destination: {existing: in-place}`"
          : "; to add the other stores to one, write it as `destination: {path: PATH, existing: append}` alone"))
  }

  /// Whether two paths lead to one file, also through symbolic and hard links, also when it is yet to be made.
  static func sameFile(_ a: String, _ b: String) -> Bool {
    if let a = FileStatus(following: a), let b = FileStatus(following: b) { return a.identity == b.identity }
    return real(a) == real(b)
  }

  static func real(_ path: String) -> String {
    let url = URL(filePath: path).standardizedFileURL
    return url.deletingLastPathComponent().resolvingSymlinksInPath().appending(path: url.lastPathComponent)
      .resolvingSymlinksInPath().path
  }
}

extension YAMLReader {
  func path(_ node: Node, key: String, fragment: Bool = false) throws -> ManifestPath {
    let text = try text(node, key: key, expected: "a path")
    guard !text.contains(where: { $0.isNewline || $0 == "\0" }), !(fragment && text.hasPrefix("#")) else {
      throw wrong(key, expected: "a path", node)
    }
    return ManifestPath(text, location: file.textLocation(of: node))
  }

  func paths(_ node: Node, key: String, fragment: Bool = false) throws -> [ManifestPath] {
    try items(node, key: key, expected: "a path").map { try path($0, key: key, fragment: fragment) }
  }
}
