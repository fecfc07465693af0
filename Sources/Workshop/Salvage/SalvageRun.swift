import Foundation
import GodwitModel
import GodwitStore

/// One salvage, from the pages to a finished copy.
final class SalvageRun {
  private let source: SalvageSource
  private let copy: CopyStore
  private let references: [String]
  /// The copy under construction.
  private let temporary: String
  private var report: SalvageReport

  /// The tables that every Core Data store has, with what else their rows must be.
  private static let fixed = ["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"]

  init(_ source: SalvageSource, copy path: String, models: [String], cache: ByteCount) throws {
    self.source = source
    (references, temporary) = (models, path)
    copy = try CopyStore(source, path: path, cache: cache)
    report = SalvageReport(
      source: source.path, copy: path,
      pages: .init(
        sizeBytes: source.pages.pageSize, count: Int(source.pages.pageCount), missing: Int(source.pages.missingPages),
        unreadable: 0, unassigned: []))
  }

  /// - Parameter name: The name of the copy in the report.
  func write(named name: String) throws -> SalvageReport {
    report.copy = name
    noteFile()
    try copy.makeTables()
    try refuseOtherDatabase()
    report.losses += copy.leftOut
    try loadFixedTables()
    let found = try findModel()
    var schema: StoreSchema?
    if let found {
      schema = try layModel(found)
    } else if !source.catalog.lost.isEmpty {
      report.losses.append("definitions of tables, and without a model nothing says which tables there were")
    }
    guard !copy.names.isEmpty else {
      throw GodwitError(
        .dataWrong, "cannot salvage '\(source.path)': the definitions of its tables are lost",
        remedy: "give the model of the store with --model MODEL", safe: "the store is untouched")
    }
    try loadRows(schema)
    report.losses += try IndexCheck(copy, schema).run()
    try repair(schema, areNumbersKnown: copy.states["Z_PRIMARYKEY"]?.rows ?? 0 > 0)
    try finishTables(schema)
    try makeIndexes(schema)
    noteTables(schema)
    report.pages.unreadable = source.pages.failedReads.count
    report.pages.unassigned = Array(copy.unassignedPages.prefix(100))
    try copy.finish()
    return report
  }

  private func refuseOtherDatabase() throws {
    let isNone = Self.fixed.allSatisfy { copy.tables[$0] == nil }
    guard source.catalog.lost.isEmpty, isNone, references.isEmpty else { return }
    throw GodwitError(
      .dataWrong, "cannot salvage '\(source.path)': expected a Core Data store, found a SQLite file without its tables",
      remedy: "if it was one, give its model with --model MODEL; SQLite's own command `.recover` is for other files",
      safe: "the store is untouched")
  }

  private func noteFile() {
    if !source.pages.header.isRead {
      report.inferred.append(
        "the header of the file is lost: pages of \(source.pages.pageSize) bytes and UTF-8 are assumed")
    }
    report.inferred += source.pages.notes
    report.losses += source.losses
    if !source.catalog.lost.isEmpty {
      let orphans = source.catalog.orphanPages
      report.inferred.append(
        "definitions of tables are lost"
          + (orphans > 0 ? "; \(orphans.counted("page")) with others was found without the tree" : ""))
    }
    if !source.map.isPresent, !source.free.isSound {
      report.inferred.append(
        "which pages are free is not known: pages that are found without a tree may be of deleted rows")
    }
  }

  // MARK: The tables of every store

  private func loadFixedTables() throws {
    let definitions = [
      ("Z_METADATA", "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)"),
      (
        "Z_PRIMARYKEY",
        "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)"
      ), ("Z_MODELCACHE", "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)"),
    ]
    // A store of an early version has no cache: its definition is made only if others are lost too.
    for (name, sql) in definitions where copy.tables[name] == nil {
      if name == "Z_MODELCACHE", source.catalog.lost.isEmpty { continue }
      try copy.makeTable(name, sql)
    }
    for name in Self.fixed where copy.tables[name] != nil { try copy.load(name) }
    try copy.findOrphans(
      of: Self.fixed,
      isRow: [
        "Z_METADATA": { row in
          guard row.values.count == 3, case .text(let uuid) = row.values[1], case .blob(let list) = row.values[2] else {
            return false
          }
          return row.key == 1 && uuid.count == 36 && list.starts(with: Array("bplist00".utf8))
        },
        "Z_PRIMARYKEY": { row in
          guard row.values.count == 4, case .text(let name) = row.values[1], case .integer(let parent) = row.values[2]
          else { return false }
          return row.key > 0 && row.key < 1 << 20 && !name.isEmpty && parent >= 0 && parent < 1 << 20
        },
        "Z_MODELCACHE": { row in
          guard case .blob(let bytes)? = row.values.first else { return false }
          return row.values.count == 1 && bytes.count > 64 && bytes[0] == 0x78
        },
      ], isLast: false)
  }

  private func findModel() throws -> SalvageModel? {
    let metadata = try? StoreMetadata(reading: copy.connection, schema: "main", path: source.path)
    var cache: [UInt8]?
    if copy.tables["Z_MODELCACHE"] != nil {
      let content = try copy.connection.value(
        "SELECT Z_CONTENT FROM main.Z_MODELCACHE WHERE length(Z_CONTENT) < 67108864 LIMIT 1")
      if case .blob(let bytes)? = content { cache = bytes }
    }
    let found = try SalvageModel.find(
      references, metadata: metadata, cache: cache, path: source.path, notes: &report.inferred)
    if let found {
      report.model = found.model.name
      report.modelOrigin = found.origin.rawValue
      if !found.isProved {
        report.inferred.append(
          "the version of the store is not known, as its metadata is lost: model '\(found.model.name)' is assumed")
      }
    } else {
      report.inferred.append(
        "the store has no model: links, entities and defaults were not looked at, and lost tables were not made (`--model MODEL`)"
      )
    }
    guard metadata == nil else { return found }
    guard let found else {
      report.losses.append("the metadata of the store, which cannot be made without a model")
      return nil
    }
    let identifiers = try copy.connection.strings("SELECT Z_UUID FROM main.Z_METADATA WHERE length(Z_UUID) = 36")
    let known = identifiers.lazy.compactMap { UUID(uuidString: $0) }.first
    let made = StoreMetadata(model: found.model, uuid: known ?? UUID())
    try made.write(to: copy.connection)
    report.losses.append(
      "the metadata of the store: "
        + (known == nil ? "its identifier is new (\(made.uuid)), and " : "")
        + "the application's own keys are gone")
    copy.states["Z_METADATA"]?.parts = []
    return found
  }

  private func layModel(_ found: SalvageModel) throws -> StoreSchema? {
    var tables = ModelTables(copy, found.model)
    do {
      let schema = try tables.complete()
      report.inferred += tables.notes
      copy.shapes.merge(TableShape.shapes(schema, copy)) { _, new in new }
      return schema
    } catch let error as GodwitError where error.code == .dataWrong {
      report.inferred += tables.notes
      report.losses.append(
        "the model does not fit the tables, so links were not looked at: \(error.message.replacing(temporary, with: source.path))"
      )
      return nil
    }
  }

  // MARK: Rows

  private func loadRows(_ schema: StoreSchema?) throws {
    let found = try schema.map { try PredictedRoots.find($0, copy) } ?? [:]
    if !found.isEmpty {
      for (root, name) in found { copy.adopt(root, for: name) }
      report.inferred.append(
        "the definitions of \(found.count.counted("table")) are lost: the roots and columns follow from the model (\(found.values.sorted().joined(separator: ", ")))"
      )
    }
    if schema == nil { report.losses += try EntityNumbers(copy).shape() }
    for name in copy.names { try copy.load(name) }
    try copy.noteUnreached()
    try copy.findOrphans(of: copy.names.filter { !Self.fixed.contains($0) }, isLast: true)
  }

  private func repair(_ schema: StoreSchema?, areNumbersKnown: Bool) throws {
    guard let schema else { return }
    var joins = JoinRebuild(copy, schema)
    try joins.run()
    report.inferred += joins.notes
    report.losses += joins.losses
    var repairs = CopyRepairs(copy, schema)
    try repairs.findStrays(areNumbersKnown: areNumbersKnown)
    try repairs.fillMadeColumns()
    try repairs.cutLinks()
    try repairs.correctEntities()
    report.links = repairs.links
    report.strays = repairs.strays
    report.inferred += repairs.notes
    try ExternalValues(copy, schema, SupportFolder(ofStoreAt: source.path)).check(&report.missingFiles)
  }

  private func finishTables(_ schema: StoreSchema?) throws {
    let connection = copy.connection
    if schema == nil {
      let numbers = EntityNumbers(copy)
      report.losses += try numbers.losses() + numbers.missingTables()
    }
    if schema != nil {
      // The rows that are lost follow from the model.
      copy.states["Z_PRIMARYKEY"]?.parts = []
      copy.states["Z_PRIMARYKEY"]?.rows = try connection.integer("SELECT count(*) FROM main.Z_PRIMARYKEY") ?? 0
    }
    let metadata = try connection.integer("SELECT count(*) FROM main.Z_METADATA") ?? 0
    copy.states["Z_METADATA"]?.rows = metadata
    // The table has one row.
    if metadata > 0 { copy.states["Z_METADATA"]?.parts = [] }
    if copy.tables["Z_MODELCACHE"] != nil,
      try connection.integer("SELECT count(*) FROM main.Z_MODELCACHE WHERE Z_CONTENT IS NOT NULL") == 0
    {
      try connection.execute("DROP TABLE main.Z_MODELCACHE")
      if copy.states["Z_MODELCACHE"]?.isMade == false {
        report.inferred.append("the model inside the store is lost: Core Data puts it there again")
      }
      copy.states["Z_MODELCACHE"] = nil
    }
  }

  private func makeIndexes(_ schema: StoreSchema?) throws {
    var indexes = CopyIndexes(copy)
    try indexes.make(schema)
    report.inferred += indexes.notes
    report.losses += indexes.losses
    try copy.connection.execute("PRAGMA main.user_version = \(source.pages.header.userVersion)")
    try copy.connection.execute("PRAGMA main.application_id = \(source.pages.header.applicationID)")
  }

  private func noteTables(_ schema: StoreSchema?) {
    let entities = Dictionary((schema?.tables ?? []).map { ($0.name, $0.rootEntityName) }) { first, _ in first }
    for name in copy.names {
      guard let state = copy.states[name] else { continue }
      let ranges = LostRanges.merged(state.parts)
      if state.healedParts > 0 {
        report.inferred.append(
          "table '\(name)': \(state.healedParts.counted("lost part")) could be read whole from other pages")
      }
      if state.doubtful.count > 0 {
        report.losses.append(
          "table '\(name)': the last page of \(state.doubtful.count.counted("value")) is zeros, which are the value's own or in place of what is lost (\(state.doubtful.text))"
        )
      }
      if state.malformed.count > 0 {
        report.inferred.append(
          "table '\(name)': \(state.malformed.count.counted("row")) with a text that is not UTF-8, copied as it is (\(state.malformed.text))"
        )
      }
      if !state.madeColumns.isEmpty {
        report.losses.append(
          "table '\(name)' lacked \(state.madeColumns.count.counted("column")) of the model: \(state.madeColumns.joined(separator: ", "))"
        )
      }
      if state.isMade, entities[name] != nil || schema?.joinTables.contains(where: { $0.name == name }) == true,
        source.catalog.lost.isEmpty
      {
        report.losses.append("table '\(name)' of the model is not in the store")
      }
      let isMissing = state.isMade && source.catalog.lost.isEmpty
      report.tables.append(
        .init(
          name: name, entity: entities[name], rows: state.rows, orphanRows: state.orphanRows,
          inferredRows: state.guessedRows, refusedRows: state.refusedRows, isMade: state.isMade,
          madeColumns: state.madeColumns,
          lost: isMissing ? [] : ranges.prefix(200).map { LostRanges.range($0, name, copy) },
          lostRanges: isMissing ? 0 : ranges.count))
    }
  }
}

/// The lost parts of a table as ranges of keys.
enum LostRanges {
  /// Parts that follow each other for one reason become one.
  static func merged(_ parts: [LostPart]) -> [LostPart] {
    var merged: [LostPart] = []
    for part in parts.sorted(by: { $0.keys.lowerBound < $1.keys.lowerBound }) {
      if let last = merged.last, last.reason == part.reason, last.keys.upperBound < .max,
        last.keys.upperBound + 1 >= part.keys.lowerBound
      {
        let upper = max(last.keys.upperBound, part.keys.upperBound)
        merged[merged.count - 1] = LostPart(page: last.page, keys: last.keys.lowerBound...upper, reason: last.reason)
      } else {
        merged.append(part)
      }
    }
    return merged
  }

  static func range(_ part: LostPart, _ table: String, _ copy: CopyStore) -> SalvageReport.Range {
    let rowid = copy.tables[table]?.rowidName ?? "rowid"
    let rows = try? copy.connection.integer(
      "SELECT count(*) FROM main.\(quoted(table)) WHERE \(rowid) BETWEEN ?1 AND ?2",
      [.integer(part.keys.lowerBound), .integer(part.keys.upperBound)])
    return SalvageReport.Range(
      first: part.keys.lowerBound == .min ? nil : part.keys.lowerBound,
      last: part.keys.upperBound == .max ? nil : part.keys.upperBound, page: part.page == 0 ? nil : part.page,
      reason: part.reason.rawValue, rows: (rows ?? nil) ?? 0)
  }
}
