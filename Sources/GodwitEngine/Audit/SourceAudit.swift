import Foundation
package import GodwitJob
import GodwitModel
import GodwitStore

/// Finds the data that would stop a run or be carried over broken, before the run begins.
///
/// It reads the source and writes nothing. One walk over an entity's rows, on all cores, counts all rules and all results
/// of its mappings. Only for a broken rule are the first rows looked up. A value that cannot be computed ends its walk. Then
/// fewer values are computed at a time, and the failing ones are found row by row (`Failures`).
package final class SourceAudit {
  /// A rule, as SQL that is true for a row that breaks it: `s`, or `t` for the result of a mapping.
  struct Check {
    var kind: AuditReport.Kind
    var model: String
    var entity: String
    var property: String?
    var mapping: String?
    var message: String
    var condition: String
    /// The value that `--values` shows.
    var value: String?
    /// The key of the object.
    var key = "s.Z_PK"
    /// The name of the object's own entity as SQL; nil for `entity`.
    var ownEntity: String?
    /// Whether the job keeps such objects: they are counted for a plan, and no finding.
    var isKept = false
    /// Whether each of several objects that become one must pass it, because the run computes its value for all of them.
    var isOfEach = false

    var ofEach: Self {
      var check = self
      check.isOfEach = true
      return check
    }
  }

  /// The rows that some checks look at.
  struct Rows {
    /// The table of the source that is read, and the column that it is cut by.
    var table: String
    var key = "s.Z_PK"
    /// `FROM` with a condition on the key and one on the result, nil for none.
    var from: (_ keys: String?, _ result: String?) -> String
    var builder = StatementBuilder()
    var patterns: [NSRegularExpression] = []
    /// Whether there are rows beside these that may break the rules.
    var isPartial = false
    /// Whether parts of the table are read on several threads.
    var isCut = true
    /// A query of objects `k` that become one with the object `f`; nil where none does.
    var merged: String?

    /// The rows `s` of a table, as far as they fulfil a condition.
    static func all(of table: String, key: String = "s.Z_PK", where condition: String? = nil) -> Self {
      Rows(table: table, key: key) { "FROM source.\(quoted(table)) AS s\(whereClause([condition, $0, $1]))" }
    }

    /// A query with the functions that these rows need.
    func read(_ sql: String, _ functions: SQLFunctions, _ keys: ClosedRange<Int64>?) throws -> [[SQLValue]] {
      let arguments = builder.arguments(from: keys?.lowerBound ?? .min, through: keys?.upperBound ?? .max)
      return try functions.running(
        ChunkStatement(sql: sql, builder: builder), context: "audit", with: StatementInputs(patterns: patterns)
      ) {
        try functions.connection.rows(sql, arguments)
      }
    }
  }

  let attached: AttachedSource
  let job: MigrationJob
  let planner: Planner
  let sampleCount: Int
  let showsValues: Bool
  /// Whether only what a run stops at is wanted: see `forecast`.
  let isForecast: Bool
  /// The objects for which a filter cannot be computed, where a plan has found them; nil to look for them here.
  let uncomputable: [MigrationPlan.Uncomputable]?
  private let uuid: String
  var report = AuditReport()
  /// The rows for which the filter of a mapping cannot be computed, by the mapping's index.
  var filterFailures: [MappingID: Failures] = [:]
  /// The rows for which the value of an attribute cannot be computed, by the mapping's index and the attribute.
  var valueFailures: [MappingID: [String: Failures]] = [:]
  /// The objects that a run would set aside, by the table of the source.
  var rejected: [String: Set<Int64>] = [:]
  /// The objects that the job keeps although they break rules.
  var kept: [KeptInvalid] = []
  /// The relationships with a rule whose objects only the run can count, with the reason.
  var uncounted: [String] = []

  var connection: StoreConnection { attached.connection }
  var schema: StoreSchema { attached.sourceSchema }
  var model: ManagedObjectModel { attached.resolved.sourceModel }
  var resolved: ResolvedMapping { attached.resolved }

  /// - Parameter samples: How many objects of a finding are named.
  package init(
    _ attached: AttachedSource, job: MigrationJob, samples: Int, showsValues: Bool, isForecast: Bool = false,
    uncomputable: [MigrationPlan.Uncomputable]? = nil
  ) throws {
    (self.attached, self.job, sampleCount, self.showsValues) = (attached, job, samples, showsValues)
    self.isForecast = isForecast
    self.uncomputable = uncomputable
    planner = attached.planner(job)
    uuid = try StoreMetadata(reading: attached.connection, path: job.sourcePath).uuid
  }

  package func run() throws -> AuditReport {
    try auditRows()
    try auditLinks()
    try auditUniqueness()
    try auditMappings()
    return report
  }

  func uri(_ entity: String, _ key: Int64) -> String { "x-coredata://\(uuid)/\(entity)/p\(key)" }

  func skip(_ text: String) { if !report.notLookedAt.contains(text) { report.notLookedAt.append(text) } }
  func countChecks(_ count: Int) { report.checks += Int64(count) }
  func countObjects(_ count: Int64) { report.objects += count }

  func add(_ finding: AuditReport.Finding) { report.findings.append(finding) }

  // MARK: Running checks

  /// SQLite takes 2000 columns at most.
  private static let columnsAtOnce = 200

  /// Counts the rows that break each rule in one walk, and names the first ones. Reports nothing if a value cannot be
  /// computed.
  func run(_ checks: [Check], on rows: Rows) throws {
    var findings: [AuditReport.Finding] = []
    var keptHere: [KeptInvalid] = []
    var rest = checks[...]
    while !rest.isEmpty {
      let part = rest.prefix(Self.columnsAtOnce)
      rest = rest.dropFirst(part.count)
      let sums = part.map { "SUM(\($0.condition))" }.joined(separator: ", ")
      let column = rows.key.split(separator: ".").last.map(String.init) ?? rows.key
      let walk = SourceWalk(rows.table, column: column, isCut: rows.isCut) { functions, keys in
        let range = keys.map { _ in "\(rows.key) BETWEEN ?1 AND ?2" }
        return try rows.read("SELECT \(sums) \(rows.from(range, nil))", functions, keys).first ?? []
      }
      let counted = try planner.scan.counts([walk])[0]
      for (check, count) in zip(part, counted.sums(part.count)) where count > 0 {
        if check.isKept {
          keptHere.append(KeptInvalid(entity: check.entity, property: check.property ?? "", objects: count))
          continue
        }
        if isForecast { try reject(check, on: rows) }
        let value = showsValues ? check.value ?? "NULL" : "NULL"
        let entity = check.ownEntity ?? textLiteral(check.entity)
        let broken = rows.from(nil, "(\(check.condition))")
        let found =
          sampleCount == 0
          ? []
          : try rows.read(
            "SELECT \(check.key), \(entity), \(value) \(broken) ORDER BY 1 LIMIT \(sampleCount)", attached.functions,
            nil)
        findings.append(
          AuditReport.Finding(
            check.kind, model: check.model, entity: check.entity, property: check.property, mapping: check.mapping,
            count: count, isLowerBound: rows.isPartial, message: check.message,
            samples: found.map { sample($0, of: check.entity) }))
      }
    }
    countChecks(checks.count)
    for finding in findings { add(finding) }
    kept += keptHere
  }

  /// - Parameters:
  ///   - row: The object's key, the name of its entity, and the values concerned.
  ///   - entity: The entity to name if the row has none.
  func sample(_ row: [SQLValue], of entity: String) -> AuditReport.Sample {
    guard row.count > 1, case .integer(let key) = row[0] else { return AuditReport.Sample(uri: entity, value: nil) }
    var name = entity
    if case .text(let bytes) = row[1] { name = String(decoding: bytes, as: UTF8.self) }
    let value = showsValues ? row.dropFirst(2).map(Self.text).joined(separator: ", ") : nil
    return AuditReport.Sample(uri: uri(name, key), value: value)
  }

  /// The rows of a query whose functions are those of a builder.
  func rows(_ sql: String, _ builder: StatementBuilder) throws -> [[SQLValue]] {
    try attached.functions.running(ChunkStatement(sql: sql, builder: builder), context: "audit") {
      try connection.rows(sql, builder.arguments())
    }
  }

  /// A value as one line of at most 80 characters.
  private static func text(_ value: SQLValue) -> String {
    switch value {
    case .null: "nil"
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .text(let bytes):
      "\"" + String(decoding: bytes, as: UTF8.self).prefix(80) + (bytes.count > 80 ? "…" : "") + "\""
    case .blob(let bytes): "\(bytes.count) bytes"
    }
  }

  /// The rows of an entity.
  func objects(of entity: String) -> Rows? {
    schema.table(of: entity).map { .all(of: $0.name, where: schema.isObject(of: [entity], row: "s").sql) }
  }

  // MARK: Rows and values

  private func auditRows() throws {
    for root in model.rootEntities {
      guard let table = schema.table(of: root.name), !schema.fillsTable(root.name) else { continue }
      let known = model.family(of: root.name).compactMap { schema.number(of: $0.name) }.map(String.init)
      try run(
        [
          Check(
            kind: .unknownEntity, model: model.name, entity: root.name,
            message: "rows with an unknown entity number (known: \(known.joined(separator: ", ")))",
            condition: "s.Z_ENT IS NULL OR s.Z_ENT NOT IN (\(known.joined(separator: ", ")))", value: "s.Z_ENT")
        ], on: .all(of: table.name))
    }
    for entity in model.withoutPairs.entities where !entity.isAbstract {
      guard let rows = objects(of: entity.name) else { continue }
      countObjects(try connection.integer("SELECT COUNT(*) \(rows.from(nil, nil))") ?? 0)
      var checks: [Check] = []
      for attribute in model.attributes(of: entity.name) {
        guard let column = schema.column(of: attribute.name, in: entity.name).map({ "s.\(quoted($0))" }),
          let condition = Self.isWrong(column, attribute.type)
        else { continue }
        checks.append(
          Check(
            kind: .wrongType, model: model.name, entity: entity.name, property: attribute.name,
            message: "values that an attribute of type \(attribute.type.xcodeName) cannot hold", condition: condition,
            value: column))
        if attribute.type == .binary, attribute.allowsExternalBinaryDataStorage {
          checks.append(
            malformed(
              entity, attribute, "binary values that are neither bytes nor the name of an external file",
              "\(ExternalDataSQL.isNotInline(column)) AND godwit_file(\(column)) = 2", column))
          try auditFiles(entity.name, attribute.name, column, rows)
        } else if attribute.type == .string || attribute.type == .uri {
          checks.append(
            malformed(
              entity, attribute, "texts that are not UTF-8",
              "typeof(\(column)) = 'text' AND NOT godwit_utf8(\(column))", column))
        }
      }
      try run(checks, on: rows)
    }
  }

  /// A check for values that a run copies although they have no meaning.
  private func malformed(
    _ entity: EntityDescription, _ attribute: AttributeDescription, _ what: String, _ condition: String,
    _ value: String
  ) -> Check {
    Check(
      kind: .malformed, model: model.name, entity: entity.name, property: attribute.name, message: what,
      condition: condition, value: value)
  }

  /// The test that the executor makes of a value that it reads (`RowCheck`), as SQL; nil when any value will do.
  static func isWrong(_ column: String, _ type: AttributeType) -> String? {
    let field = RowCheck.Field(reading: type, site: 0)
    guard !field.isVoid else { return nil }
    let names: [(RowCheck.Kinds, String)] = [
      (.null, "null"), (.integer, "integer"), (.real, "real"), (.text, "text"), (.blob, "blob"),
    ]
    let known = names.filter { field.kinds.contains($0.0) }.map { "'\($0.1)'" }.joined(separator: ", ")
    var condition = "typeof(\(column)) NOT IN (\(known))"
    if field.takesNaN { condition = "(\(condition) AND NOT \(column) IS 'NaN')" }
    if let count = field.byteCount { condition = "(\(condition) OR length(\(column)) <> \(count))" }
    return condition
  }

  private func auditFiles(_ entity: String, _ attribute: String, _ column: String, _ rows: Rows) throws {
    let folder = job.sourceSupport
    var count: Int64 = 0
    var samples: [AuditReport.Sample] = []
    try connection.query("SELECT s.Z_PK, \(column) \(rows.from(nil, ExternalDataSQL.isReference(column)))") { row in
      guard case .external(let file)? = StoredBinary(row.bytes(1)), try folder.size(of: file) == nil else {
        return true
      }
      count += 1
      if samples.count < sampleCount {
        samples.append(AuditReport.Sample(uri: uri(entity, row.int64(0)), value: showsValues ? file : nil))
      }
      return true
    }
    countChecks(1)
    guard count > 0 else { return }
    add(
      AuditReport.Finding(
        .missingFile, model: model.name, entity: entity, property: attribute, count: count,
        message: "values whose external file is missing"
          + (job.missingFilesAreNil ? "; they are nil where a mapping needs their bytes" : ""), samples: samples))
  }
}
