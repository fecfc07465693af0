import Foundation
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode

/// The kinds of several files, one line each.
struct InspectionTable {
  struct Row: Encodable {
    let path: String
    var inspection: FileInspection?
    /// Why the file cannot be read.
    var error: GodwitError?

    private enum CodingKeys: String, CodingKey { case path, error }

    func encode(to encoder: any Encoder) throws {
      // An array has no key of its own: each row says of which format it is.
      let content = inspection.map { JoinedRecord($0) } ?? JoinedRecord()
      try OutputDocument(.inspect, content).encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(path, forKey: .path)
      if let error { try container.encode(FailureRecord(error), forKey: .error) }
    }
  }

  var rows: [Row] = []

  /// Reads every file. One that cannot be read has its error in its row.
  init(of paths: [String], inspect: (String) throws -> FileInspection) throws {
    for path in paths {
      do {
        let inspection = try inspect(path)
        rows.append(Row(path: path, inspection: inspection, error: inspection.problem))
      } catch let error as GodwitError { rows.append(Row(path: path, error: error)) }
    }
  }

  /// The error of the whole call: the first, and how many there are.
  var problem: GodwitError? {
    let errors = rows.compactMap(\.error)
    guard let first = errors.first else { return nil }
    return GodwitError(
      first.code, "cannot read \(errors.count) of \(rows.count) files",
      cause: errors.map(\.line).joined(separator: "\n"),
      remedy: first.remedy)
  }

  var text: String {
    let header = ["PATH", "KIND", "SIZE", "ENTITIES", "OBJECTS", "MODEL"]
    return TextTable.text([header] + rows.map { Self.cells($0).map(\.onOneLine) }, numbers: 2..<5)
  }

  private static func cells(_ row: Row) -> [String] {
    guard let inspection = row.inspection else { return [row.path, "unreadable", "", "", "", row.error?.line ?? ""] }
    var cells = [row.path, inspection.kind.rawValue, "", "", "", ""]
    if let store = inspection.store {
      cells[2] = ByteCount(bytes: store.fileBytes).description
      cells[3] = "\(store.entities.count)"
      cells[4] = "\(store.entities.reduce(0) { $0 + ($1.rows ?? 0) })"
      cells[5] =
        inspection.fittingModel
        ?? store.versionIdentifiers.filter { !$0.isEmpty }.joined(separator: ", ")
    }
    if inspection.check?.isSound == false { cells[5] = row.error?.line ?? "" }
    if let model = inspection.model {
      cells[3] = "\(model.entities.count)"
      cells[5] = model.version ?? ""
    }
    if let mapping = inspection.mapping {
      cells[5] = "\(mapping.sourceModel ?? "-") to \(mapping.destinationModel ?? "-")"
    }
    if let database = inspection.database {
      cells[4] = "\(database.tables.reduce(0) { $0 + ($1.rows ?? 0) })"
      cells[5] = row.error?.line ?? ""
    }
    return cells
  }
}

/// The files that the arguments of `inspect` stand for.
enum InspectionPaths {
  /// Expands patterns that the shell left as they are, folders, except those that are one thing: a model, a work
  /// folder; and manifests of many stores.
  ///
  /// - Returns: nil for one argument that is one file. With the stores of a manifest, its models.
  static func expanded(_ arguments: [String]) throws -> (paths: [String], models: [Text: [String]])? {
    var isTable = arguments.count > 1
    var paths: [String] = []
    var models: [Text: [String]] = [:]
    for argument in arguments {
      if let stores = try stores(ofManifest: argument) {
        isTable = true
        paths.append(argument)
        for path in stores.paths { models[Text(path)] = stores.models }
        paths += stores.paths
        continue
      }
      let matches = matches(of: argument)
      if matches != nil { isTable = true }
      for path in matches ?? [argument] {
        guard let inner = try content(ofFolder: path, isAlone: arguments.count == 1 && matches == nil) else {
          paths.append(path)
          continue
        }
        isTable = true
        paths += inner
      }
    }
    return isTable ? (paths, models) : nil
  }

  /// The stores that a manifest's pattern matches, and the manifest's models; nil for any other file. The row of a
  /// manifest tells of its faults.
  private static func stores(ofManifest path: String) throws -> (paths: [String], models: [String])? {
    guard ["yaml", "yml"].contains(URL(filePath: path).pathExtension.lowercased()),
      let manifest = try? JobManifest(contentsOf: path), manifest.isForManyStores
    else { return nil }
    // A path that cannot be looked at gets a row that says so.
    var unreadable: [String] = []
    let matches = try StorePattern(manifest.source.raw, in: manifest.source.folder)
      .files(unreadable: { path, _ in unreadable.append(path) }).filter { !$0.isBesideStore }
    return (matches.map(\.path) + unreadable, manifest.models.map(\.resolved))
  }

  /// Nil for a path, and for a pattern without a match.
  private static func matches(of pattern: String) -> [String]? {
    guard pattern.contains(where: "*?[".contains), !FileManager.default.fileExists(atPath: pattern) else { return nil }
    var found = glob_t()
    defer { globfree(&found) }
    guard glob(pattern, 0, nil, &found) == 0, let list = found.gl_pathv else { return nil }
    return (0..<Int(found.gl_pathc)).compactMap { list[$0].map { String(cString: $0) } }
  }

  private static let depthMaximum = 12
  private static let filesMaximum = 50_000

  /// The stores, models, mapping models and work folders in a folder and below it; nil for what is not such a folder.
  ///
  /// Links are not followed, and hidden files left out.
  private static func content(ofFolder folder: String, isAlone: Bool) throws -> [String]? {
    guard FileStatus(following: folder)?.isFolder == true, !isOneThing(folder) else { return nil }
    var found: [String] = []
    var hasStore = false
    var open = [(path: folder, depth: 0)]
    var count = 0
    while let (path, depth) = open.popLast() {
      guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
        // Its row says why.
        found.append(path)
        continue
      }
      for name in names where !name.hasPrefix(".") {
        count += 1
        guard count <= filesMaximum else {
          throw GodwitError(
            .usage, "cannot inspect the folder '\(folder)': expected at most \(filesMaximum) files, found more",
            remedy: "name a folder inside it")
        }
        let inner = path.hasSuffix("/") ? path + name : path + "/" + name
        if isOneThing(inner) {
          found.append(inner)
          continue
        }
        switch FileStatus(named: inner)?.kind {
        case .folder? where depth < depthMaximum: open.append((inner, depth + 1))
        case .file?:
          guard isStore(inner) else { continue }
          hasStore = true
          found.append(inner)
        default: continue
        }
      }
    }
    // A folder around one model has always been that model.
    if isAlone, !hasStore, found.count < 2 || (try? FileInspection(of: folder, models: [])) != nil { return nil }
    return found.sorted { Text($0) < Text($1) }
  }

  private static func isOneThing(_ path: String) -> Bool {
    XcodeFileKind.identify(path) != nil || path.hasSuffix(".godwit") || path.hasSuffix(".godwit/")
  }

  /// Whether a file is a store, or cannot be read: its row says why.
  private static func isStore(_ path: String) -> Bool {
    guard let head = try? FileInspection.head(of: path) else { return true }
    if case .store = StoreType.Content(head: head) { return true }
    return false
  }
}
