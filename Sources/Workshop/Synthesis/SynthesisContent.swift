import GodwitModel
import GodwitStore

/// The tables of a synthetic store, worked out and ready to be written.
struct SynthesisContent {
  /// One to-one column of an entity.
  private struct Key {
    var link: SynthesisToOne
    /// The index in the subject's family of the entity's first object.
    var start: Int
    var hasEntityColumn: Bool
    var hasOrderColumn: Bool
  }

  /// The columns and values of the objects of one entity.
  private struct Writer {
    var columns: [String] = ["Z_PK", "Z_ENT", "Z_OPT"]
    var values: [SynthesisValues] = []
    var keys: [Key] = []
  }

  private let synthesis: StoreSynthesis
  private let schema: StoreSchema
  private let layout: SynthesisLayout
  private let noise: SynthesisNoise
  private var writers: [String: Writer] = [:]

  private var model: ManagedObjectModel { schema.model }

  init(_ synthesis: StoreSynthesis) throws {
    self.synthesis = synthesis
    schema = StoreSchema(model: synthesis.model)
    layout = SynthesisLayout(
      schema: schema, counts: try SynthesisCounts(synthesis.model, rows: synthesis.rows).counts,
      highestKey: synthesis.isNasty ? synthesis.highestKey : nil)
    noise = SynthesisNoise(seed: synthesis.seed)
    let uniques = uniqueProperties()
    for table in layout.tables {
      for member in table.members where member.count > 0 {
        writers[member.entity] = try writer(member.entity, in: table, uniques)
      }
    }
  }

  // MARK: Working out

  /// For each uniqueness constraint one property, as `Entity.property` of the entity that declares it.
  private func uniqueProperties() -> Set<String> {
    var found: Set<String> = []
    let ranks: [AttributeType] = [
      .uuid, .integer64, .string, .uri, .binary, .transformable, .date, .double, .decimal, .integer32, .float,
      .integer16, .boolean,
    ]
    for entity in model.entities {
      for constraint in entity.uniquenessConstraints {
        let attributes = constraint.compactMap { model.attribute($0, of: entity.name) }.filter { !$0.isTransient }
        func rank(_ attribute: AttributeDescription) -> Int {
          let place = ranks.firstIndex(of: attribute.type) ?? ranks.count
          // A pattern may leave no room for as many values.
          return attribute.regularExpression == nil ? place : place + ranks.count
        }
        let choice = attributes.min { rank($0) < rank($1) }?.name ?? constraint.first
        if let choice, let owner = model.declaringEntity(of: choice, in: entity.name) {
          found.insert(owner.name + "." + choice)
        }
      }
    }
    return found
  }

  private func writer(_ entity: String, in table: SynthesisLayout.Table, _ uniques: Set<String>) throws -> Writer {
    var writer = Writer()
    for attribute in model.attributes(of: entity) {
      guard let column = schema.column(of: attribute.name, in: entity) else { continue }
      let owner = model.declaringEntity(of: attribute.name, in: entity)?.name ?? entity
      let path = owner + "." + attribute.name
      writer.columns.append(column)
      writer.values.append(
        try SynthesisValues(
          attribute, path: entity + "." + attribute.name, noise: noise.named(path), isUnique: uniques.contains(path),
          isNasty: synthesis.isNasty, total: table.count))
    }
    let unnamed = model.lineage(of: entity).flatMap { model.unnamedInverses(declaredIn: $0.name) }
    for relationship in model.relationships(of: entity) + unnamed {
      guard
        case .foreignKey(_, let column, let entityColumn, let orderColumn) = schema.storage(
          of: relationship.name, in: entity)
      else { continue }
      let key = try key(
        relationship, of: entity, uniques, hasEntityColumn: entityColumn != nil, hasOrderColumn: orderColumn != nil)
      writer.columns += [column] + [entityColumn, orderColumn].compactMap { $0 }
      writer.keys.append(key)
    }
    return writer
  }

  private func key(
    _ relationship: RelationshipDescription, of entity: String, _ uniques: Set<String>, hasEntityColumn: Bool,
    hasOrderColumn: Bool
  ) throws -> Key {
    let declaring = model.declaringEntity(of: relationship.name, in: entity)?.name ?? entity
    let path = declaring + "." + relationship.name
    let subjects = layout.family(of: declaring)
    let destination = layout.family(of: relationship.destinationEntityName)
    let place = layout.places[entity]
    let declared = model.relationship(relationship.name, of: declaring)
    var link = SynthesisToOne(
      form: .free, isOptional: relationship.isOptional, subjects: subjects.count, destination: destination,
      isSameFamily: subjects.entities == destination.entities, isNasty: synthesis.isNasty, noise: noise.named(path))
    let inverse = model.inverse(of: relationship).flatMap { $0.isTransient ? nil : $0 }
    if let inverse, declared?.destinationEntityName == relationship.destinationEntityName {
      if inverse.isToMany {
        let (least, most) = limits(of: inverse, on: destination)
        link.form = .spread(least: least, most: uniques.contains(path) ? 1 : most)
      } else if inverse.name == relationship.name, subjects.entities == destination.entities {
        link.form = .mutual(noise: noise.named(path), isAlwaysLinked: !relationship.isOptional)
      } else {
        let other =
          (model.declaringEntity(
            of: inverse.name, in: relationship.inverseEntityName ?? relationship.destinationEntityName)?
            .name ?? relationship.destinationEntityName) + "." + inverse.name
        let isFirst = Text(path) < Text(other)
        link.form = .paired(
          isFirst: isFirst, noise: noise.named(isFirst ? path : other),
          isAlwaysLinked: !isOptional(relationship.name, on: subjects) || !isOptional(inverse.name, on: destination))
      }
    } else if inverse.map({ !$0.isToMany }) == true || uniques.contains(path) {
      // An override that leads elsewhere than the relationship it overrides has no partner to agree with.
      link.form = relationship.isOptional ? .never : .spread(least: 0, most: 1)
    }
    return Key(
      link: link, start: place.flatMap { subjects.start(of: $0.member) } ?? 0, hasEntityColumn: hasEntityColumn,
      hasOrderColumn: hasOrderColumn)
  }

  /// Whether an object of a family may lack a target for a relationship.
  private func isOptional(_ name: String, on family: SynthesisLayout.Family) -> Bool {
    family.entities.allSatisfy { model.relationship(name, of: $0)?.requiresObject != true }
  }

  /// The least and most targets of a to-many for any object of the family.
  private func limits(of relationship: RelationshipDescription, on family: SynthesisLayout.Family) -> (Int, Int?) {
    var (least, most) = (0, Int?.none)
    for entity in family.entities {
      guard let described = model.relationship(relationship.name, of: entity) else { continue }
      // An optional one may be empty, but not hold fewer than its minimum.
      if described.requiresObject || described.minCount > 1 { least = max(least, described.minCount) }
      if described.maxCount > 0 { most = min(most ?? .max, described.maxCount) }
    }
    return (least, most)
  }

  // MARK: Writing

  func write(to path: String) throws {
    if let name = schema.unknownOrders.first {
      throw GodwitError(
        .usage,
        "cannot make a store of model '\(model.name)': how Core Data stores the order of '\(name)', an ordered to-many without an inverse, is not known",
        remedy: "give the relationship an inverse in the model")
    }
    let bits = noise.named(model.versionHashesDigest + (synthesis.isNasty ? "!" : "."))[synthesis.rows]
    let metadata = StoreMetadata(model: model, uuid: SynthesisValues.uuid(bits, synthesis.rows))
    let connection = try EmptyStore.create(at: path, schema: schema, metadata: metadata)
    do {
      // A store that fails is deleted, so a rollback is not needed.
      try connection.undefended { try connection.execute("PRAGMA main.journal_mode = OFF") }
      try connection.execute("PRAGMA main.synchronous = OFF")
      try connection.transaction {
        for (index, table) in layout.tables.enumerated() { try write(table, index, to: connection) }
        for join in schema.joinTables { try write(join, to: connection) }
        try EmptyStore.updatePrimaryKeyCounters(of: schema, on: connection)
      }
      try EmptyStore.createIndexes(of: schema, on: connection)
      try connection.close()
    } catch {
      try? connection.close()
      throw error
    }
  }

  private func write(_ table: SynthesisLayout.Table, _ index: Int, to connection: StoreConnection) throws {
    guard let name = schema.table(of: table.root)?.name else { return }
    var plans: [(writer: Writer, statement: SQLStatement)?] = []
    defer { for plan in plans { plan?.statement.finalize() } }
    for member in table.members {
      guard let writer = writers[member.entity] else {
        plans.append(nil)
        continue
      }
      let columns = writer.columns.map(StoreSchema.identifier).joined(separator: ", ")
      let places = (1...writer.columns.count).map { "?\($0)" }.joined(separator: ", ")
      plans.append(
        (writer, try connection.prepare("INSERT INTO \(StoreSchema.identifier(name)) (\(columns)) VALUES (\(places))")))
    }
    var values: [SQLValue] = []
    for row in 0..<table.count {
      let position = table.position(ofRow: row)
      let place = table.member(at: position)
      guard let plan = plans[place] else { continue }
      let member = table.members[place]
      values.removeAll(keepingCapacity: true)
      values += [.integer(table.key(ofRow: row)), .int(member.number), .integer(1)]
      for maker in plan.writer.values {
        values.append(try SQLValue(encoding: maker.value(position), as: maker.attribute))
      }
      for key in plan.writer.keys {
        let index = key.start + position - member.start
        let object = key.link.destination(of: index).flatMap { layout.object($0, of: key.link.destination) }
        values.append(object.map { .integer($0.key) } ?? .null)
        if key.hasEntityColumn { values.append(object.map { .int($0.number) } ?? .null) }
        if key.hasOrderColumn { values.append(object == nil ? .null : .integer(key.link.orderKey(of: index))) }
      }
      try plan.statement.run(values)
    }
  }

  private func write(_ join: StoreSchema.JoinTable, to connection: StoreConnection) throws {
    guard let relationship = model.relationship(join.ownerRelationshipName, of: join.ownerEntityName),
      let inverse = join.inverseRelationshipName.flatMap({ model.relationship($0, of: join.destinationEntityName) })
    else { return }
    // A relationship may lead to fewer than the entity that declares its inverse has objects, and the other way.
    let owners = layout.family(of: narrower(join.ownerEntityName, inverse.destinationEntityName))
    let destinations = layout.family(of: narrower(join.destinationEntityName, relationship.destinationEntityName))
    let (ownerLeast, ownerMost) = limits(of: relationship, on: owners)
    let (destinationLeast, destinationMost) = limits(of: inverse, on: destinations)
    let noise = noise.named(join.ownerEntityName + "." + join.ownerRelationshipName)
    let columns =
      [join.ownerColumn, join.destinationColumn]
      + [join.ownerOrderColumn, join.destinationOrderColumn]
      .compactMap { $0 }
    let statement = try connection.prepare(
      "INSERT OR IGNORE INTO \(StoreSchema.identifier(join.name)) (\(columns.map(StoreSchema.identifier).joined(separator: ", "))) "
        + "VALUES (\((1...columns.count).map { "?\($0)" }.joined(separator: ", ")))")
    defer { statement.finalize() }
    func insert(_ owner: Int, _ destination: Int, _ ownerPlace: Int, _ destinationPlace: Int) throws {
      guard let first = layout.object(owner, of: owners), let second = layout.object(destination, of: destinations)
      else { return }
      var values: [SQLValue] = [.integer(first.key), .integer(second.key)]
      if join.ownerOrderColumn != nil { values.append(.int(2048 + 1024 * ownerPlace)) }
      if join.destinationOrderColumn != nil { values.append(.int(2048 + 1024 * destinationPlace)) }
      try statement.run(values)
    }
    if join.isReflexive {
      try reflexive(owners.count, least: ownerLeast, most: ownerMost, insert)
      return
    }
    let pairs = SynthesisJoin(
      owners: owners.count, destinations: destinations.count, ownerLeast: ownerLeast, ownerMost: ownerMost,
      destinationLeast: destinationLeast, destinationMost: destinationMost, noise: noise)
    guard let pairs else {
      let isNeeded =
        owners.count > 0 && !isOptional(relationship.name, on: owners)
        || destinations.count > 0 && !isOptional(inverse.name, on: destinations)
      guard isNeeded else { return }
      throw GodwitError(
        .usage,
        "cannot make relationship '\(join.ownerEntityName).\(join.ownerRelationshipName)': \(owners.count) objects on "
          + "one side and \(destinations.count) on the other leave no way to keep its limits",
        remedy: "give another number of rows, or relax the limits")
    }
    try pairs.forEachEdge(insert)
  }

  private func narrower(_ a: String, _ b: String) -> String { model.isKind(b, of: a) ? b : a }

  /// Pairs of a relationship that is its own inverse, each in both directions.
  private func reflexive(
    _ count: Int, least: Int, most: Int?, _ insert: (Int, Int, Int, Int) throws -> Void
  ) throws {
    guard count > 0, most != 0 else { return }
    // Each step gives every object two neighbours; a bound of one leaves pairs from the ends inwards.
    if most == 1 {
      for index in 0..<count where count - 1 - index != index || least > 0 {
        try insert(index, count - 1 - index, 0, 0)
      }
      return
    }
    let steps = min(max(1, (least + 1) / 2), most.map { max(1, $0 / 2) } ?? .max, max(1, (count - 1) / 2))
    guard count > 1 || least > 0 else { return }
    for index in 0..<count {
      for step in 1...steps {
        try insert(index, (index + step) % count, step, 0)
        try insert(index, (index - step + count * 2) % count, steps + step, 0)
      }
    }
  }
}
