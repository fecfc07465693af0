import GodwitJob
import GodwitModel
import GodwitStore

extension Verification {
  /// Checks everything that does not need the objects.
  ///
  /// - Returns: Whether the tables are there, so that their rows can be compared.
  func checkFile() throws -> Bool {
    try checkMetadata()
    let areKeysSound = try checkKeys()
    let isReadable = try checkSchema() && areKeysSound
    try compareLayout()
    if isReadable { try checkNumbers() }
    return isReadable
  }

  /// Begins SQLite's check of both files, beside the comparison of rows.
  func beginIntegrityCheck() throws -> IntegrityCheck {
    // Godwit itself made a store between two steps. The reader of an atomic store notices damage.
    let checksSource = try job.position.isFirst && StoreFiles(path: job.sourcePath).type == .sqlite
    findings.count("files whose pages and indexes were checked", checksSource ? 2 : 1)
    return try IntegrityCheck(
      destination: destination, source: checksSource ? source : nil, known: progress.start?.integrity,
      cache: .init(bytes: max(job.memory.bytes / 16, 1 << 20)), usesShortcuts: usesShortcuts,
      isStopped: progress.isStopped)
  }

  /// Waits for SQLite's check. Its findings come first because they explain others.
  func finish(_ check: IntegrityCheck) throws {
    let complaints = try check.complaints()
    isSourceDamaged = complaints.source?.isEmpty == false
    findings.prepend(
      (complaints.destination ?? []).map { .init(.file, message: $0) }
        + (complaints.source ?? []).map { .init(.source, message: "the source is damaged: \($0)") })
  }

  /// - Returns: Whether the rows of both stores have keys, so that they can be compared.
  private func checkKeys() throws -> Bool {
    let found = try KeyProof(connection: source, schema: sourceSchema).faults()
    for fault in found { find(.source, "the source is damaged: \(fault)") }
    // Where a table is missing, or has another definition, that is the finding.
    guard appended?.foundStore == true else { return found.isEmpty }
    let made = try KeyProof(connection: destination, schema: destinationSchema).faults()
    for fault in made { find(.file, fault) }
    return found.isEmpty && made.isEmpty
  }

  // MARK: Schema

  private struct Item: Hashable {
    var type: String
    var name: String
  }

  private func checkSchema() throws -> Bool {
    var expected: [Item: String] = [:]
    for table in destinationSchema.tables { expected[Item(type: "table", name: table.name)] = table.createStatement }
    for join in destinationSchema.joinTables { expected[Item(type: "table", name: join.name)] = join.createStatement }
    for index in destinationSchema.indexes { expected[Item(type: "index", name: index.name)] = index.sql }
    // An atomic store has no triggers.
    let triggers = job.destinationType == .sqlite ? destinationSchema.triggers : []
    for trigger in triggers { expected[Item(type: "trigger", name: trigger.name)] = trigger.sql }
    for statement in destinationSchema.createStatements {
      for name in ["Z_PRIMARYKEY", "Z_METADATA"] where statement.hasPrefix("CREATE TABLE \(name) ") {
        expected[Item(type: "table", name: name)] = statement
      }
    }
    // A store that existed before the append keeps the definitions that it was made with.
    if appended?.foundStore == true { return try checkTables(expected.keys.filter { $0.type == "table" }.map(\.name)) }
    for item in try historyItems() { expected[Item(type: item.type, name: item.name)] = item.sql }
    var found: [Item: String] = [:]
    try destination.query(
      "SELECT type, name, sql FROM \(Self.attached).sqlite_master WHERE sql IS NOT NULL ORDER BY type, name"
    ) { row in
      found[Item(type: row.string(0) ?? "", name: row.string(1) ?? "")] = row.string(2)
      return true
    }
    findings.count("tables, indexes and triggers", Int64(expected.count))
    for derived in destinationSchema.derivedAttributes where destinationSchema.triggers(of: derived) == nil {
      let part = "_\(derived.entityName)_\(derived.attributeName)_"
      guard !found.keys.contains(where: { $0.type == "trigger" && $0.name.contains(part) }) else { continue }
      findings.count("not proved: triggers of derived attribute \(derived.entityName).\(derived.attributeName)", 1)
    }
    var isReadable = true
    for (item, sql) in expected.sorted(by: { ($0.key.type, $0.key.name) < ($1.key.type, $1.key.name) }) {
      guard let present = found[item] else {
        find(.schema, "\(item.type) '\(item.name)' is missing")
        if item.type == "table" { isReadable = false }
        continue
      }
      if try present != sql && !(item.type == "table" && isInOtherOrder(item.name, sql: present)) {
        find(.schema, "\(item.type) '\(item.name)' differs: expected '\(sql)', found '\(present)'")
        if item.type == "table" { isReadable = false }
      }
    }
    for item in found.keys.sorted(by: { ($0.type, $0.name) < ($1.type, $1.name) }) where expected[item] == nil {
      // Core Data makes this one itself when it opens the store.
      if item.name == "Z_MODELCACHE" { continue }
      if item.type == "trigger", try isOfSource(item.name, sql: found[item] ?? "") { continue }
      let what = item.name.hasPrefix("godwit_") ? "was left behind by the migration" : "is not of the model"
      find(.schema, "\(item.type) '\(item.name)' \(what)")
    }
    return isReadable
  }

  /// Whether a table of a store that was migrated in place is the model's but for the order of its columns.
  private func isInOtherOrder(_ name: String, sql: String) throws -> Bool {
    guard original != nil, var table = destinationSchema.tables.first(where: { $0.name == name }) else { return false }
    let names = try destination.strings(
      "PRAGMA \(Self.attached).table_info(\(StoreSchema.identifier(name)))", column: 1)
    table.columns.sort { (names.firstIndex(of: $0.name) ?? .max) < (names.firstIndex(of: $1.name) ?? .max) }
    return table.createStatement == sql
  }

  /// The tables are there, and nothing of the migration.
  private func checkTables(_ names: [String]) throws -> Bool {
    let found = Set(try destination.strings("SELECT name FROM \(Self.attached).sqlite_master WHERE type = 'table'"))
    var isReadable = true
    for name in names.sorted() where !found.contains(name) {
      find(.schema, "table '\(name)' is missing")
      isReadable = false
    }
    for name in found.sorted() where name.hasPrefix("godwit_") {
      find(.schema, "table '\(name)' was left behind by the migration")
    }
    findings.count("tables", Int64(names.count))
    findings.count("not proved: indexes and triggers, which the store had before the job", 1)
    return isReadable
  }

  /// Whether the source has the same trigger, which is kept because its spelling is not known for every derivation.
  private func isOfSource(_ trigger: String, sql: String) throws -> Bool {
    try source.value(
      "SELECT 1 FROM \(Self.attached).sqlite_master WHERE type = 'trigger' AND name = ?1 AND sql = ?2",
      [.text(trigger), .text(sql)]) != nil
  }

  // MARK: Metadata

  /// The metadata keys that a run writes about itself.
  private static let ownKeys: Set<String> = [
    StoreMetadata.Key.jobs, StoreMetadata.Key.step, StoreMetadata.Key.quarantined, StoreMetadata.Key.moments,
    AppendRecord.key, RemovedRepairs.key,
  ]

  private func checkMetadata() throws {
    let made: StoreMetadata
    do { made = try StoreMetadata(reading: destination, path: job.destinationPath) } catch let error as GodwitError {
      return find(.metadata, error.message)
    }
    let before = try StoreMetadata(reading: source, path: job.sourcePath)
    let model = job.destinationModel
    let hashes = model.versionHashes.mapValues(\.bytes)
    for name in Set(hashes.keys).union(made.versionHashes.keys).sorted() {
      switch (hashes[name], made.versionHashes[name]) {
      case (.some, nil): find(.metadata, name, "its version hash is missing")
      case (nil, .some): find(.metadata, name, "it has a version hash, but the model has no such entity")
      case (let expected, let found) where expected != found:
        find(.metadata, name, "its version hash is not the model's")
      default: break
      }
    }
    findings.count("version hashes", Int64(hashes.count))
    if appended?.foundStore == true {
      return findings.count("not proved: metadata that the store had before the job", 1)
    }
    func compare<T: Equatable>(_ key: String, _ found: T, _ expected: T) {
      findings.count("metadata keys", 1)
      if found != expected { find(.metadata, property: key, "it is not what the model and the source say") }
    }
    if job.destinationType == .sqlite {
      let rows = try destination.rows("SELECT Z_VERSION FROM \(Self.attached).Z_METADATA LIMIT 2")
      if rows.count > 1 { find(.metadata, "Z_METADATA has more than one row") }
      compare("Z_VERSION", rows.first?.first, .integer(1))
    }
    compare(
      StoreMetadata.Key.frameworkVersion, made.frameworkVersion,
      before.frameworkVersion ?? StoreMetadata.currentFrameworkVersion)
    compare(StoreMetadata.Key.digest, made.digest, model.versionHashesDigest)
    compare(StoreMetadata.Key.checksum, made.checksum, model.versionChecksum)
    compare(StoreMetadata.Key.versionIdentifiers, made.versionIdentifiers, model.versionIdentifiers)
    compare(StoreMetadata.Key.hashesVersion, made.hashesVersion, 3)
    compare(StoreMetadata.Key.storeType, made.values[StoreMetadata.Key.storeType]?.string, job.destinationType.rawValue)
    compare("Z_UUID", made.uuid, before.uuid)
    let jobs = StoreMetadata.Key.jobs
    for (key, value) in before.applicationValues.sorted(by: { $0.key < $1.key })
    where !Self.ownKeys.contains(key.string) && !(job.dropsMirroring && StoreMetadata.isMirroringKey(key.string)) {
      compare(key.string, made.values[key], value)
    }
    for key in made.applicationValues.keys.sorted()
    where !Self.ownKeys.contains(key.string) && before.applicationValues[key] == nil {
      find(.metadata, property: key.string, "the source has no such key")
    }
    let key = job.position.isLast ? jobs : StoreMetadata.Key.step
    let earlier = job.position.isLast ? before.values[jobs]?.array?.count ?? 0 : 0
    let named = made.values[key]?.array?.compactMap(\.string) ?? []
    if named.count <= earlier { find(.metadata, property: jobs, "it does not name the job that made the store") }
    findings.count("metadata keys", 1)
  }

  // MARK: Z_PRIMARYKEY

  private func checkNumbers() throws {
    var rows: [Int64: [SQLValue]] = [:]
    for row in try destination.rows("SELECT Z_ENT, Z_NAME, Z_SUPER FROM \(Self.attached).Z_PRIMARYKEY ORDER BY Z_ENT") {
      if case .integer(let number) = row[0] { rows[number] = row }
    }
    for (name, number) in destinationSchema.entityNumbers.sorted(by: { $0.value < $1.value }) {
      let parent = destinationSchema.model.entity(name)?.superentityName.flatMap(destinationSchema.number) ?? 0
      guard let row = rows.removeValue(forKey: Int64(number)) else {
        find(.counter, name, "Z_PRIMARYKEY has no row with number \(number)")
        continue
      }
      if row[1] != .text(name) || row[2] != .int(parent) {
        find(.counter, name, "row \(number) of Z_PRIMARYKEY does not name the entity and its parent")
      }
    }
    // A store that was there before the append has a history of its own.
    if appended?.foundStore == true { rows = [:] } else { try checkHistory(&rows) }
    for number in rows.keys.sorted() {
      find(.counter, "row \(number) of Z_PRIMARYKEY belongs to no entity of the model")
    }
    findings.count("entity numbers", Int64(destinationSchema.entityNumbers.count))
  }

  /// `Z_MAX` is at least every key, and where keys were kept at least the source's counter.
  func checkCounters() throws {
    for table in destinationSchema.tables {
      let root = table.rootEntityName
      guard let number = destinationSchema.number(of: root) else { continue }
      let counter = try destination.integer(
        "SELECT Z_MAX FROM \(Self.attached).Z_PRIMARYKEY WHERE Z_ENT = ?1", [.int(number)])
      guard let counter else {
        find(.counter, root, "Z_MAX is not set")
        continue
      }
      let highest = try destination.integer("SELECT MAX(Z_PK) FROM \(self.table(table.name))") ?? 0
      if counter < highest {
        find(.counter, root, key: highest, "Z_MAX is \(counter), less than the highest key")
      }
      findings.count("key counters", 1)
      guard let kept = keys.keptRoots[root] else { continue }
      let before =
        try source.integer(
          "SELECT MAX(Z_MAX) FROM \(Self.attached).Z_PRIMARYKEY WHERE Z_ENT IN (\(numbers(kept, in: sourceSchema)))"
        )
        ?? 0
      if counter < before {
        find(.counter, root, "Z_MAX is \(counter), less than the source's \(before), whose keys were kept")
      }
    }
  }
}
