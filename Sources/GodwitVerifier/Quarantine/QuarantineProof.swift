import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// Proves a quarantine: it holds objects of the source and nothing else, and the rules reject each of them.
///
/// The destination is then compared with the source without these objects. So exactly they are missing, and nothing in
/// the destination leads to one.
final class QuarantineProof {
  let job: MigrationJob
  let held: QuarantinedObjects
  private(set) var report = VerificationReport()
  /// The source without the objects in quarantine, once `run` has returned.
  let rest: FilteredSourceProof
  private let source: StoreConnection
  private let sourceSchema: StoreSchema
  private let moment: JobClock
  private let isStopped: () -> Bool

  /// - Parameters:
  ///   - moment: The value of `now()` in the job.
  ///   - isStopped: Whether the verification is to end early.
  init(_ job: MigrationJob, _ held: QuarantinedObjects, at moment: JobClock, isStopped: @escaping () -> Bool) throws {
    (self.job, self.held, self.moment, self.isStopped) = (job, held, moment, isStopped)
    source = try .openStore(
      readingAt: job.sourcePath, cache: .init(bytes: max(job.memory.bytes / 8, 1 << 20)), model: job.sourceModel)
    source.whileRunning { isStopped() }
    sourceSchema = try StoreSchema(model: job.sourceModel, probing: source)
    for (path, proof) in [
      (job.sourcePath, KeyProof(connection: source, schema: sourceSchema)),
      (held.path, KeyProof(connection: held.connection, schema: held.schema)),
    ] {
      guard let fault = try proof.faults().first else { continue }
      throw GodwitError(
        .dataWrong, "cannot verify '\(job.destinationPath)': '\(path)' is damaged", cause: fault,
        remedy: GodwitError.damageRemedy + "; then run the job again")
    }
    rest = try FilteredSourceProof(job, source)
  }

  func run() throws {
    for line in try held.connection.complaints(about: StoreConnection.sourceSchema, isFull: true, limit: 10) {
      report.add(.init(.file, message: "the quarantine is damaged: \(line)"))
    }
    for line in try source.complaints(about: StoreConnection.sourceSchema, isFull: true, limit: 10) {
      report.add(.init(.source, message: "the source is damaged: \(line)"))
    }
    for name in held.reasonsWithoutObject {
      report.add(.init(.missingObject, message: "the quarantine has a reason for \(name), and not the object"))
    }
    let entities = Dictionary(grouping: held.objects, by: \.entity)
    for (entity, objects) in entities.sorted(by: { $0.key < $1.key }) { try compare(objects, of: entity) }
    try compareJoins()
    for round in held.rounds {
      let objects = held.objects(ofRound: round)
      try checkRejection(of: objects)
      try rest.remove(objects)
    }
    report.count("objects in quarantine", Int64(held.objects.count))
  }

  private func proceed() throws {
    guard isStopped() else { return }
    throw GodwitError(.stopped, "cannot verify '\(job.destinationPath)': stopped before the end")
  }

  private func find(
    _ kind: VerificationReport.Finding.Kind, _ object: QuarantinedObjects.Held, _ property: String? = nil,
    _ message: String
  ) {
    report.add(
      .init(kind, entity: object.entity, key: object.key, property: property, message: "in quarantine: \(message)"))
  }

  // MARK: Content

  private struct Column {
    var property: String
    /// As SQL, in a row of the quarantine and in one of the source.
    var held, source: RowReader.Column
    /// For a key: the entity that it leads to.
    var destination: String?
    /// For the place of a link in an order: the column of the key.
    var key: Int?
    /// Whether the value may be the name of a file.
    var isExternal = false
  }

  private func columns(of entity: String) -> [Column] {
    var columns: [Column] = []
    for attribute in job.sourceModel.attributes(of: entity) {
      guard let own = held.schema.column(of: attribute.name, in: entity),
        let other = sourceSchema.column(of: attribute.name, in: entity)
      else { continue }
      columns.append(
        Column(
          property: attribute.name, held: .init(name: own), source: .init(name: other),
          isExternal: attribute.allowsExternalBinaryDataStorage))
    }
    for relationship in job.sourceModel.relationships(of: entity) {
      guard case .foreignKey(_, let own, _, let ownOrder) = held.schema.storage(of: relationship.name, in: entity),
        case .foreignKey(_, let other, _, let otherOrder) = sourceSchema.storage(of: relationship.name, in: entity)
      else { continue }
      columns.append(
        Column(
          property: relationship.name, held: .init(name: own), source: .init(name: other),
          destination: relationship.destinationEntityName))
      if let ownOrder, let otherOrder {
        columns.append(
          Column(
            property: relationship.name, held: .init(name: ownOrder), source: .init(name: otherOrder),
            key: columns.count - 1))
      }
    }
    return columns
  }

  private func compare(_ objects: [QuarantinedObjects.Held], of entity: String) throws {
    guard let own = held.schema.table(of: entity), let other = sourceSchema.table(of: entity) else { return }
    let columns = columns(of: entity)
    let key = RowReader.Column(name: "Z_PK")
    let here = try RowReader(
      held.connection, database: StoreConnection.sourceSchema, table: own.name, columns: [key] + columns.map(\.held))
    let there = try RowReader(
      source, database: StoreConnection.sourceSchema, table: other.name, columns: [key] + columns.map(\.source),
      where: sourceSchema.isObject(of: [entity]))
    for object in objects {
      try proceed()
      if object.round == nil { find(.extraObject, object, nil, "the store gives no reason") }
      guard let found = try here.row(object.key), let wanted = try there.row(object.key) else {
        find(.extraObject, object, nil, "the source has no such object")
        continue
      }
      for (place, column) in columns.enumerated() {
        var expected = wanted.content(place + 1)
        // The place of a link belongs to its key.
        let (end, destination) = column.key.map { ($0, columns[$0].destination) } ?? (place, column.destination)
        if let destination, try !isHeld(wanted.values[end + 1], destination) { expected = .value(.null) }
        guard try !isSame(found.content(place + 1), expected) else {
          if column.isExternal { try compareFile(wanted.values[place + 1], object, column.property) }
          continue
        }
        find(
          column.destination == nil ? .value : .missingLink, object, column.property, "it is not what the source has")
      }
    }
    report.count("values in quarantine", Int64(objects.count * columns.count))
  }

  /// Whether the quarantine's value equals the source's.
  private func isSame(_ found: StoredContent, _ expected: StoredContent) throws -> Bool {
    guard case (.large(let a), .large(let b)) = (found, expected) else { return found == expected }
    return try a.isText == b.isText && StoredBytes.row(a, held.connection).isSame(as: .row(b, source))
  }

  /// Compares the file that a value refers to with that of the source.
  private func compareFile(_ value: SQLValue, _ object: QuarantinedObjects.Held, _ property: String) throws {
    guard case .blob(let bytes) = value, case .external(let name)? = StoredBinary(bytes) else { return }
    let (own, other) = (SupportFolder(ofStoreAt: held.path), job.sourceSupport)
    guard try other.size(of: name) != nil else {
      if try own.size(of: name) == nil {
        report.count("not proved: external files in quarantine that are missing in the source too", 1)
      } else {
        find(.value, object, property, "the source has no such external file")
      }
      return
    }
    report.count("external files in quarantine", 1)
    guard try own.size(of: name) != nil else { return find(.value, object, property, "its external file is missing") }
    guard try !own.holdsSameBytes(name, as: name, in: other) else { return }
    find(.value, object, property, "its external file is not that of the source")
  }

  /// Whether an object of the entity or a subentity is in quarantine.
  private func isHeld(_ key: SQLValue, _ entity: String) throws -> Bool {
    guard case .integer = key, let table = held.schema.table(of: entity) else { return false }
    let kind = held.schema.isKind(of: entity).further
    return try held.connection.value("SELECT 1 FROM source.\(quoted(table.name)) WHERE Z_PK = ?1\(kind)", [key]) != nil
  }

  /// Pairs of a many-to-many: those of the source whose both ends are in quarantine.
  private func compareJoins() throws {
    for join in sourceSchema.joinTables {
      guard
        case .join(let own, let subject, let object, _) = held.schema.storage(
          of: join.ownerRelationshipName, in: join.ownerEntityName)
      else { continue }
      let subjects = "\(quoted(subject)) , \(quoted(object))"
      var pairs: Set<[SQLValue]> = []
      try held.connection.query("SELECT \(subjects) FROM source.\(quoted(own.name))") { row in
        pairs.insert([row.value(0), row.value(1)])
        return true
      }
      func find(_ kind: VerificationReport.Finding.Kind, _ message: String) {
        report.add(
          .init(
            kind, entity: join.ownerEntityName, property: join.ownerRelationshipName,
            message: "in quarantine: \(message)"))
      }
      var wanted: Int64 = 0
      try source.query(
        "SELECT \(quoted(join.ownerColumn)), \(quoted(join.destinationColumn)) FROM source.\(quoted(join.name))"
      ) { row in
        let pair = [row.value(0), row.value(1)]
        guard try isHeld(pair[0], join.ownerEntityName), try isHeld(pair[1], join.destinationEntityName) else {
          return true
        }
        wanted += 1
        if pairs.remove(pair) == nil { find(.missingLink, "a link of the source is missing") }
        return true
      }
      for _ in pairs { find(.extraLink, "the source has no such link") }
      report.count("links in quarantine", wanted)
    }
  }

  // MARK: Rejection

  /// Checks that each object would have been rejected when only those of earlier rounds were missing.
  private func checkRejection(of objects: [QuarantinedObjects.Held]) throws {
    let proof = RejectionProof(try ComparedStores(job, moment: moment, readingSourceAt: rest.path))
    for object in objects {
      try proceed()
      switch try proof.rejection(of: object.entity, key: object.key) {
      case .proved: report.count("objects in quarantine that a rule rejects", 1)
      case .unknown: report.count("not proved: the rejection of objects in quarantine", 1)
      case .none: find(.extraObject, object, nil, "no rule rejects the object")
      }
      proof.stores.objects.reset()
    }
  }
}
