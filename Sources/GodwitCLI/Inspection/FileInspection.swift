import Foundation
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode

/// The kind of a file, and its content.
struct FileInspection: Encodable {
  enum Kind: String, Encodable {
    case store = "Core Data store"
    case model = "model"
    case otherXcodeFile = "file of Xcode"
    case mappingModel = "mapping model"
    case manifest = "job manifest"
    case workFolder = "work folder of an unfinished job"
    case spillFile = "spill file"
    case database = "SQLite file"
  }

  let path: String
  private(set) var kind: Kind
  /// One line more on the kind.
  var detail: String?
  var store: StoreSummary?
  /// The version that fits the store, of the models given.
  var fittingModel: String?
  /// The model that the store carries.
  var cachedModel: CachedModelContent?
  /// The receipt beside the store that has its model, if the store carries none.
  var receiptWithModel: String?
  var model: ModelContent?
  var mapping: MappingContent?
  var job: JobContent?
  var spill: SpillContent?
  var work: WorkContent?
  /// The tables of a SQLite file that cannot be read as a store.
  var database: DatabaseTables?
  /// Statistics of the store's objects.
  var details: StoreDetails?
  /// The result of SQLite's check.
  var check: CheckContent?
  /// Why the file cannot be read as what it is meant to be; what can be read is shown all the same.
  private(set) var problem: GodwitError?

  private enum CodingKeys: String, CodingKey {
    case path, kind, detail, store, fittingModel, cachedModel, receiptWithModel, model, mapping, job, spill, work,
      database
    case details, check
  }

  struct ModelContent: Encodable {
    let versions: [String]
    let current: String?
    /// The version shown: the one asked for, or else the current one.
    let version: String?
    let entities: [String]
    /// Where the model was found, when the path is a folder that holds it.
    var path: String?
    /// The versions that cannot be read, each with the reason.
    var unreadable: [String] = []
    /// Parts of the version shown that were replaced or left out.
    var remarks: [String] = []
  }

  struct CheckContent: Encodable {
    let isSound: Bool
    /// At most 20 lines.
    let complaints: [String]
    /// The indexes whose order was not checked, each with the reason; nil without any.
    var leftOut: [String]?
  }

  struct CachedModelContent: Encodable {
    let fits: Bool
    /// Why it does not.
    let problem: String?
    /// Parts of it that Xcode's model files cannot express.
    let omissions: [String]
  }

  struct MappingContent: Encodable {
    struct Entity: Encodable {
      let name, kind: String
      let source, destination, policy: String?
    }
    let sourceModel, destinationModel: String?
    let entityMappings: [Entity]
  }

  struct JobContent: Encodable {
    let job, source: String
    let destination: String?
    let models: [String]
  }

  struct SpillContent: Encodable {
    let pairs: Int64
    let frames: Int
    let bytes: Int64
  }

  struct WorkContent: Encodable {
    let hasStore: Bool
    let spillFiles: [String]
    let bytes: Int64
  }

  /// - Throws: 66 when there is nothing at the path or it cannot be read, 65 when it is none of the kinds.
  ///
  /// - Parameters:
  ///   - models: Where the model of a store is looked for; by default it is the one inside the store.
  ///   - withDetails: Whether the values of a store are summarized.
  ///   - checks: Whether SQLite checks all pages and indexes of a store.
  init(
    of text: String, models: [String], configuration: String? = nil, withDetails: Bool = false, checks: Bool = false
  ) throws {
    let reference = ModelReference(parsing: text)
    path = reference.path
    guard let status = FileStatus(following: path) else { throw Self.failure(errno, looking: path) }
    switch XcodeFileKind.identify(path) {
    case .model?, .modelBundle?, .compiledModel?, .compiledModelBundle?:
      kind = .model
      (model, problem) = try Self.model(reference)
      return
    case .mappingModel?, .compiledMappingModel?:
      kind = .mappingModel
      let found = try XcodeMappingModel(contentsOf: path)
      detail = Self.detail(of: found)
      mapping = Self.mapping(
        MappingModel(
          sourceModelName: found.sourceModelName, destinationModelName: found.destinationModelName,
          entityMappings: found.outline))
      return
    case let other?:
      kind = .otherXcodeFile
      detail = "\(other.rawValue); its content is not read by this version"
      return
    case nil: break
    }
    if status.isFolder {
      guard path.hasSuffix(".godwit") || path.hasSuffix(".godwit/") else {
        // A framework, an application, a folder of sources.
        kind = .model
        (model, problem) = try Self.model(reference)
        return
      }
      kind = .workFolder
      work = try Self.work(path)
      return
    }
    let head = try Self.head(of: path)
    if GitLFSPointer.matches(head) { throw GitLFSPointer.problem(path, what: "file", .dataWrong) }
    let content = StoreType.Content(head: head)
    if case .store(let type) = content {
      kind = .store
      try readStore(type, models, configuration: configuration, withDetails: withDetails, checks: checks)
    } else if Self.isSpillFile(head) {
      kind = .spillFile
      spill = try Self.spill(path)
    } else if ["yaml", "yml"].contains(URL(filePath: path).pathExtension.lowercased()) {
      if Self.isMapping(path) {
        kind = .mappingModel
        mapping = Self.mapping(try MappingModel(contentsOfYAML: path))
      } else {
        kind = .manifest
        job = Self.job(try JobManifest(contentsOf: path))
      }
    } else if content == .propertyList {
      throw Self.unknown(path, content.name, remedy: StoreType.unreadableTypes)
    } else {
      let size = FileStatus(following: path)?.size ?? 0
      // Pages have 512 bytes, or that doubled some times.
      guard size >= 1024, size.isMultiple(of: 512) else {
        throw Self.unknown(path, head.isEmpty ? "an empty file" : "an unknown kind of file")
      }
      throw Self.unknown(
        path, "an unknown kind of file",
        remedy:
          "if it is a SQLite store whose first page is damaged, `godwit salvage STORE -o COPY --model MODEL` reads the others"
      )
    }
  }

  private mutating func readStore(
    _ type: StoreType, _ models: [String], configuration: String?, withDetails: Bool, checks: Bool
  ) throws {
    do {
      store = try StoreSummary(readingStoreAt: path)
    } catch let error as GodwitError where type == .sqlite && error.code == .dataWrong {
      guard let tables = try? DatabaseTables(readingDatabaseAt: path) else { throw error }
      (kind, database, problem) = (.database, tables, error)
      // The problem that is told keeps the log from being judged too.
      do { detail = try MissingLog.line(ofStoreAt: path) } catch {}
      return
    }
    detail = try MissingLog.line(ofStoreAt: path)
    let metadata = try StoreMetadata(readingStoreAt: path)
    let stored = try StoredModel(inStoreAt: path, metadata: metadata)
    cachedModel = Self.cachedModel(stored, of: path)
    var fitting: ManagedObjectModel?
    switch stored {
    case .fits(let cached): fitting = cached.model
    case .inReceipt(let model, let receipt): (fitting, receiptWithModel) = (model, receipt)
    case .missing, .differs, .unreadable: break
    }
    if !models.isEmpty {
      let found = try ModelVersions(references: models, configuration: configuration)
        .model(fitting: metadata, path: path, isJob: false)
      (fitting, fittingModel) = (found, found.name)
    }
    if checks, type == .sqlite { try runCheck() }
    guard withDetails else { return }
    guard let fitting else {
      problem =
        problem
        ?? GodwitError(
          .usage, "cannot show details of '\(path)': expected --models, found none",
          cause: "neither the store nor a receipt beside it has a model that fits",
          remedy: "give the model of the store with --models MODEL")
      return
    }
    details = try StoreDetails(ofStoreAt: path, model: fitting)
  }

  private mutating func runCheck() throws {
    let connection = try DatabaseTables.open(path)
    defer { try? connection.close() }
    let complaints = try connection.complaints(
      about: StoreConnection.sourceSchema, isFull: true, limit: DatabaseTables.complaintsMaximum)
    let foreign = complaints.isEmpty ? try connection.foreignIndexes(in: StoreConnection.sourceSchema) : []
    check = CheckContent(
      isSound: complaints.isEmpty, complaints: complaints,
      leftOut: foreign.isEmpty ? nil : foreign.map { "not checked: \($0.reason)" })
    guard !complaints.isEmpty else { return }
    problem = GodwitError(
      .dataWrong, "SQLite finds the store '\(path)' damaged", cause: complaints.joined(separator: "\n"),
      remedy: GodwitError.damageRemedy)
  }

  /// An LZ4 frame; ours have a skippable frame with the record's header before each.
  private static func isSpillFile(_ head: [UInt8]) -> Bool {
    guard head.count >= 4 else { return false }
    let isFrame = head.starts(with: [0x04, 0x22, 0x4D, 0x18])
    return isFrame || (head[0] & 0xF0 == 0x50 && head[1...3].elementsEqual([0x2A, 0x4D, 0x18]))
  }

  private static func unknown(
    _ path: String, _ found: String,
    remedy: String = "a model ends in .xcdatamodel, .xcdatamodeld, .mom or .momd, a mapping or manifest in .yaml"
  ) -> GodwitError {
    GodwitError(
      .dataWrong,
      "cannot inspect '\(path)': expected a store, model, mapping, manifest, work folder or spill file, found \(found)",
      remedy: remedy)
  }

  /// The beginning of a file, by which its kind is known.
  private static func failure(_ code: Int32, looking path: String) -> GodwitError {
    switch code {
    case ENOENT: GodwitError(.missingInput, "cannot read '\(path)': no such file", remedy: "check the path")
    case EACCES, EPERM:
      GodwitError(
        .permission, "cannot read '\(path)': \(String(cString: strerror(code)))",
        remedy: "check the permissions of the file and its folder")
    default:
      GodwitError(
        [ENOTDIR, ELOOP, ENAMETOOLONG].contains(code) ? .missingInput : .inputOutput,
        "cannot read '\(path)': \(String(cString: strerror(code)))", remedy: "check the path")
    }
  }

  static func head(of path: String) throws -> [UInt8] {
    guard StoreFiles.isRegularFile(path) else { throw unknown(path, "a special file") }
    guard let file = FileHandle(forReadingAtPath: path) else {
      let isDenied = !FileManager.default.isReadableFile(atPath: path)
      throw GodwitError(
        isDenied ? .permission : .missingInput, "cannot read '\(path)'", remedy: "check its permissions")
    }
    defer { try? file.close() }
    do { return Array(try file.read(upToCount: 4096) ?? Data()) } catch {
      throw GodwitError(.inputOutput, "cannot read '\(path)'", cause: error.localizedDescription)
    }
  }

  /// Whether the text has a top-level key of mapping files. A file without one is read as a manifest.
  private static func isMapping(_ path: String) -> Bool {
    guard let data = FileManager.default.contents(atPath: path) else { return false }
    return String(decoding: data, as: UTF8.self).split(separator: "\n").contains { line in
      line.hasPrefix("godwit-mapping") || line.hasPrefix("entity-mappings")
    }
  }

  // MARK: Contents

  private static func model(_ reference: ModelReference) throws -> (ModelContent, problem: GodwitError?) {
    let bundle = try ModelBundle(contentsOf: reference.path)
    let version = reference.version ?? bundle.currentVersion
    var problems: [GodwitError] = []
    var problem: GodwitError?
    var shown: ManagedObjectModel?
    for name in bundle.versions {
      do {
        let model = try bundle.model(named: name)
        if name == version { shown = model }
      } catch let error as GodwitError {
        problems.append(error)
        if name == version { problem = error }
      }
    }
    // A model that names no current version at all may be one of an old Xcode.
    if bundle.isCurrentVersionDamaged || reference.version == nil && version != nil {
      do { _ = try bundle.currentModel() } catch let error as GodwitError {
        if error.topic == .currentVersion { problems.append(error) }
      }
    }
    if shown == nil, let version = reference.version, !bundle.versions.contains(version) {
      _ = try bundle.model(named: version)
    }
    let content = ModelContent(
      versions: bundle.versions, current: bundle.currentVersion, version: shown == nil ? nil : version,
      entities: shown?.entityNames ?? [], path: bundle.path == reference.path ? nil : bundle.path,
      unreadable: problems.map(\.line), remarks: shown?.remarks.map(\.description) ?? [])
    return (content, problem)
  }

  /// Indexes and triggers of Core Data that a store made of this one lacks.
  private static func leftOut(_ model: ManagedObjectModel, of path: String) -> [String] {
    guard let connection = try? StoreConnection.openStore(readingAt: path) else { return [] }
    defer { try? connection.close() }
    return (try? StoreSchema(model: model, probing: connection))?.foreignContent.leftOut ?? []
  }

  private static func cachedModel(_ model: StoredModel, of path: String) -> CachedModelContent? {
    switch model {
    case .missing, .inReceipt: nil
    case .fits(let cached):
      CachedModelContent(
        fits: true, problem: nil,
        omissions: cached.omissions
          + (StoreSchema(model: cached.model).omittedIndexes + leftOut(cached.model, of: path))
          .map { "in a store that Godwit makes, \($0)" })
    case .differs(let cached):
      CachedModelContent(fits: false, problem: "its version hashes differ", omissions: cached.omissions)
    case .unreadable(let error): CachedModelContent(fits: false, problem: error.message, omissions: [])
    }
  }

  private static func mapping(_ mapping: MappingModel) -> MappingContent {
    MappingContent(
      sourceModel: mapping.sourceModelName, destinationModel: mapping.destinationModelName,
      entityMappings: mapping.entityMappings.map {
        .init(
          name: $0.name, kind: $0.kind.rawValue, source: $0.sourceEntityName, destination: $0.destinationEntityName,
          policy: $0.policyName)
      })
  }

  /// The models that the file was made for.
  private static func detail(of found: XcodeMappingModel) -> String {
    if let problem = found.embeddedModelProblem { return "\(found.kind.rawValue); \(problem.message)" }
    let counts = "\(found.sourceEntityHashes.count) source and \(found.destinationEntityHashes.count) destination"
    return found.kind == .compiledMappingModel
      ? "\(found.kind.rawValue) for entities of \(counts) version hashes"
      : "\(found.kind.rawValue); its models have \(counts) entities"
  }

  private static func job(_ manifest: JobManifest) -> JobContent {
    JobContent(
      job: manifest.job, source: manifest.sourceText, destination: manifest.destination.path?.raw,
      models: manifest.models.map(\.raw))
  }

  private static func spill(_ path: String) throws -> SpillContent {
    do throws(SpillError) {
      let reader = try SpillReader(path: path)
      let content = SpillContent(pairs: reader.pairCount, frames: reader.frameCount, bytes: reader.mark.length)
      try reader.close()
      return content
    } catch {
      throw GodwitError(.dataWrong, "cannot read spill file '\(path)'", cause: error.message, remedy: error.remedy)
    }
  }

  private static func work(_ path: String) throws -> WorkContent {
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: path).sorted() } catch {
      throw GodwitError(.permission, "cannot read folder '\(path)'", remedy: "check its permissions")
    }
    let bytes = names.reduce(0) { $0 + (FileStatus(named: path + "/" + $1)?.size ?? 0) }
    return WorkContent(
      hasStore: names.contains("store.sqlite"), spillFiles: names.filter { $0.hasSuffix(".lz4") }, bytes: bytes)
  }
}
