import GodwitModel
import GodwitStore

extension FileInspection: CustomStringConvertible {
  var description: String {
    var lines = ["\(path): \(kind.rawValue)"]
    if let detail { lines.append("  \(detail)") }
    if let store { lines += Self.lines(store, cachedModel) }
    if let receiptWithModel { lines.append("  model        in the receipt '\(receiptWithModel)'") }
    if let fittingModel { lines.append("  model        '\(fittingModel)' fits") }
    if let model {
      if let path = model.path { lines.append("  found        \(path)") }
      lines.append(
        "  versions     " + model.versions.map { $0 == model.current ? "\($0) (current)" : $0 }.joined(separator: ", "))
      if let version = model.version {
        lines.append("  entities of '\(version)'")
        lines += model.entities.map { "    \($0)" }
      }
      lines += model.remarks.map { "  remark       \($0)" }
      lines += model.unreadable.map { "  unreadable   \($0)" }
    }
    if let mapping {
      if let name = mapping.sourceModel { lines.append("  from         \(name)") }
      if let name = mapping.destinationModel { lines.append("  to           \(name)") }
      for entity in mapping.entityMappings {
        lines.append(
          "    \(entity.name): \(entity.kind) \(entity.source ?? "-") to \(entity.destination ?? "-")"
            + (entity.policy.map { ", policy \($0)" } ?? ""))
      }
    }
    if let job {
      lines += ["  job          \(job.job)", "  source       \(job.source)"]
      lines.append("  destination  \(job.destination ?? "in place")")
      lines.append("  models       \(job.models.joined(separator: ", "))")
    }
    if let spill {
      lines.append(
        "  pairs        \(spill.pairs) in \(spill.frames.counted("frame")), \(ByteCount(bytes: spill.bytes))")
    }
    if let work {
      lines.append("  store        \(work.hasStore ? "under construction" : "none yet")")
      lines.append("  spill files  \(work.spillFiles.count)")
      lines.append("  size         \(ByteCount(bytes: work.bytes))")
    }
    if let database { lines += Self.lines(database) }
    if let check { lines += Self.lines(ofCheck: check.complaints) + (check.leftOut ?? []).map { "    \($0)" } }
    if let details { lines += details.lines }
    return lines.map(\.onOneLine).joined(separator: "\n")
  }

  private static func lines(_ database: DatabaseTables) -> [String] {
    var lines = ["  tables"]
    lines += database.tables.map { table in
      "    \(table.name): " + (table.rows.map { $0.counted("row") } ?? "cannot be counted: \(table.problem ?? "")")
    }
    return lines + Self.lines(ofCheck: database.complaints)
  }

  private static func lines(ofCheck complaints: [String]) -> [String] {
    ["  SQLite check " + (complaints.isEmpty ? "ok" : "failed")] + complaints.map { "    \($0)" }
  }

  private static func lines(_ store: StoreSummary, _ cached: CachedModelContent?) -> [String] {
    var lines = [
      "  size         \(ByteCount(bytes: store.fileBytes))"
        + (store.walBytes.map { ", -wal \(ByteCount(bytes: $0))" } ?? "")
        + (store.hasHotJournal ? ", hot -journal" : ""),
      store.type.isAtomic
        ? "  type         \(store.type.rawValue)"
        : "  journal      \(store.journalMode), pages of \(store.pageSizeBytes) bytes",
      "  uuid         \(store.uuid)",
      "  framework    \(store.frameworkVersion.map { "\($0)" } ?? "unknown")",
      "  identifiers  " + store.versionIdentifiers.map { "'\($0)'" }.joined(separator: ", "),
    ]
    if !store.applicationKeys.isEmpty {
      lines.append("  own keys     " + store.applicationKeys.joined(separator: ", "))
    }
    if !store.historyTables.isEmpty { lines.append("  history      " + store.historyTables.joined(separator: ", ")) }
    if !store.cloudKitTables.isEmpty { lines.append("  CloudKit     \(store.cloudKitTables.count.counted("table"))") }
    if store.externalFiles > 0 {
      lines.append("  external     \(store.externalFiles.counted("file")), \(ByteCount(bytes: store.externalBytes))")
    }
    if let cached {
      lines.append("  model cache  " + (cached.fits ? "fits" : "does not fit: \(cached.problem ?? "")"))
      lines += cached.omissions.map { "    left out: \($0)" }
    } else if store.hasModelCache {
      lines.append("  model cache  empty")
    }
    lines.append("  entities")
    for entity in store.entities {
      lines.append(
        "    \(entity.number) \(entity.name ?? "(no name)"): "
          + (entity.rows.map { $0.counted("row") } ?? "table not found")
      )
    }
    for stray in store.strayRows {
      let number = stray.number.map { "entity number \($0), which is not one of its own" } ?? "no entity number"
      lines.append("    \(stray.rows.counted("row")) of \(stray.table) with \(number)")
    }
    lines += store.damagedKeys.map { "    damaged      table \($0)" }
    return lines
  }
}
