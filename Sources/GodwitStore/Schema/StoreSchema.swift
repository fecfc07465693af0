package import GodwitModel

/// How a SQLite store holds a model's objects: tables, columns, join tables, entity numbers.
///
/// `init(model:)` gives the schema that Core Data would make today. ``init(model:probing:schema:)`` gives that of an
/// existing file, which may differ if an older version of Core Data or an in-place migration made it.
package struct StoreSchema: Sendable, Hashable {
  /// The role of a column of an entity table.
  package enum ColumnRole: Sendable, Hashable {
    /// `Z_PK`
    case primaryKey
    /// `Z_ENT`
    case entity
    /// `Z_OPT`
    case optimisticLock
    /// The value of an attribute of `entity`.
    case attribute(entity: String, name: String, type: AttributeType)
    /// `Z<REL>`: the primary key of the object a to-one leads to.
    case foreignKey(entity: String, relationship: String)
    /// `Z<n>_<REL>`: the entity number of that object.
    case foreignEntity(entity: String, relationship: String)
    /// `Z_FOK_<REL>`: the place among the owner's ordered objects.
    case orderKey(entity: String, relationship: String)
  }

  /// A column of an entity table.
  package struct Column: Sendable, Hashable {
    /// The column's name.
    package var name: String
    /// The type in `CREATE TABLE`, for example `INTEGER`.
    package var declaredType: String
    /// The role of the column.
    package var role: ColumnRole
  }

  /// The table of a root entity and all its descendants.
  package struct EntityTable: Sendable, Hashable {
    /// The table's name.
    package var name: String
    /// The name of the root entity.
    package var rootEntityName: String
    /// In declaration order, `Z_PK`, `Z_ENT`, `Z_OPT` first.
    package var columns: [Column]
    package init(name: String, rootEntityName: String, columns: [Column]) {
      self.name = name
      self.rootEntityName = rootEntityName
      self.columns = columns
    }
  }

  /// The table of a many-to-many relationship and its inverse.
  package struct JoinTable: Sendable, Hashable {
    /// The table's name.
    package var name: String
    /// The entity and relationship the table is named after. `ownerColumn` holds the owner's key.
    package var ownerEntityName: String
    /// The relationship that the table is named after.
    package var ownerRelationshipName: String
    /// The column with the owner's key.
    package var ownerColumn: String
    /// Holds the key of the object that `ownerRelationshipName` leads to.
    package var destinationColumn: String
    /// The entity that the relationship leads to.
    package var destinationEntityName: String
    /// The relationship seen from the destination; nil for one without inverse.
    package var inverseRelationshipName: String?
    /// Place among the owner's objects, when the owner's relationship is ordered (`Z_FOK_…`).
    package var ownerOrderColumn: String?
    /// Place among the destination's objects, when the inverse is ordered.
    package var destinationOrderColumn: String?

    /// Whether it stores a relationship that is its own inverse. A pair may be stored once or in both directions.
    package var isReflexive: Bool { destinationColumn == StoreSchema.reflexiveColumn }

    /// The table as it can follow FROM: each pair in both directions if the relationship is its own inverse. If that
    /// relationship is ordered, a row also has the place of its first object among those of the second, see
    /// ``inverseOrderColumn(from:)``.
    ///
    /// - Parameters:
    ///   - database: The name under which the store is attached.
    ///   - condition: Restricts the rows of the table.
    package func rows(in database: String, where condition: String? = nil) -> String {
      let table = "\(StoreSchema.identifier(database)).\(StoreSchema.identifier(name))"
      guard isReflexive else { return table }
      let (a, b) = (StoreSchema.identifier(ownerColumn), StoreSchema.identifier(destinationColumn))
      let filter = condition.map { " WHERE \($0)" } ?? ""
      guard let order = ownerOrderColumn.map(StoreSchema.identifier) else {
        return "(SELECT \(a), \(b) FROM \(table)\(filter) UNION SELECT \(b), \(a) FROM \(table)\(filter))"
      }
      // Each direction has a place of its own. A pair that is stored once has none in the other direction.
      let turned = "FROM \(table) AS r WHERE r.\(a) = m.\(b) AND r.\(b) = m.\(a)"
      let once = (condition.map { "\($0) AND " } ?? "") + "NOT EXISTS (SELECT 1 \(turned))"
      return
        "(SELECT m.\(a) AS \(a), m.\(b) AS \(b), m.\(order) AS \(order), (SELECT r.\(order) \(turned)) AS \(Self.turnedOrder) FROM \(table) AS m\(filter) "
        + "UNION ALL SELECT m.\(b), m.\(a), NULL, m.\(order) FROM \(table) AS m WHERE \(once))"
    }

    /// The place in the other direction, in the rows of an ordered relationship that is its own inverse.
    private static let turnedOrder = "godwit_turned_order"

    /// The column of ``rows(in:where:)`` with the place of a row's subject among the objects of its object; nil if that
    /// end is not ordered.
    ///
    /// - Parameter subject: The column with the subject's key.
    package func inverseOrderColumn(from subject: String) -> String? {
      if isReflexive { return ownerOrderColumn.map { _ in Self.turnedOrder } }
      return subject == ownerColumn ? destinationOrderColumn : ownerOrderColumn
    }
  }

  package struct Index: Sendable, Hashable {
    package var name: String
    package var table: String
    /// The whole `CREATE [UNIQUE] INDEX` statement.
    package var sql: String
    package var isUnique: Bool
  }

  /// How a relationship of an entity is stored, seen from that entity.
  package enum RelationshipStorage: Sendable, Hashable {
    /// A to-one: the key is in the object's own row. `entityColumn` exists when the destination has
    /// subentities; `orderColumn` when the inverse is an ordered to-many.
    case foreignKey(table: String, column: String, entityColumn: String?, orderColumn: String?)
    /// The to-many side of a to-one, or a to-many without an inverse: the key is in the other object's row.
    case inverse(table: String, column: String, entityColumn: String?, orderColumn: String?)
    /// Many-to-many. `subjectColumn` holds this object's key, `objectColumn` the other's,
    /// `orderColumn` the place among this object's objects, when ordered.
    case join(JoinTable, subjectColumn: String, objectColumn: String, orderColumn: String?)
    /// The property has no storage: it is transient, or unknown.
    case none
  }

  /// The second column of the table of a many-to-many that is its own inverse.
  static let reflexiveColumn = "REFLEXIVE"

  /// The version that the schema is for.
  package internal(set) var model: ManagedObjectModel
  /// Entity name to `Z_ENT`.
  package internal(set) var entityNumbers: [String: Int]
  /// In the order Core Data makes them.
  package internal(set) var tables: [EntityTable]
  /// The views of the pairs that the model has beside those of its version: see `StoreConnection.showPairs`.
  package internal(set) var pairTables: [EntityTable] = []
  /// The join tables, in the order Core Data makes them.
  package internal(set) var joinTables: [JoinTable]
  /// By join table of an existing store, the columns that come first in an index of the file's. Not part of the
  /// schema's identity.
  var joinWalks = Derived([String: Set<String>]())
  /// The tables of an existing store in which SQLite does not keep keys apart: see `checkKeys`. Not part of the schema's
  /// identity.
  var unkeyedTables = Derived(Set<String>())
  /// The content of an existing store that neither the model nor Core Data names. Not part of the schema's identity.
  package var foreignContent: UnmodelledContent { foreign.value }
  var foreign = Derived(UnmodelledContent())
  /// Ordinary and unique indexes in creation order.
  package internal(set) var indexes: [Index]
  /// Indexes of the model that Godwit cannot express, each with its reason: they are not made.
  package internal(set) var omittedIndexes: [String]
  /// Names that Core Data may choose otherwise; none in the schema of an existing store.
  package var guesses: [NameGuess] { joinGuesses.value }
  var joinGuesses = Derived([NameGuess]())
  /// Ordered to-many relationships without an inverse, `Entity.relationship`, whose order Core Data stores in a way
  /// that nothing has shown; none in the schema of an existing store.
  package var unknownOrders: [String] { orderDoubts.value }
  var orderDoubts = Derived([String]())
  /// Ends of many-to-many relationships whose columns would have the same name, in the order of their suffixes.
  var suffixGroups: [[JoinNames.End]] { joinSuffixGroups.value }
  var joinSuffixGroups = Derived([[JoinNames.End]]())
  private var lookUps = Derived(LookUps())

  /// The tables for look-ups by name.
  private struct LookUps: Sendable {
    struct AttributeKey: Hashable, Sendable {
      var entityName: String
      var attributeName: String
    }
    var tables: [String: EntityTable] = [:]
    var attributeColumns: [AttributeKey: Column] = [:]
    var entityNames: [Int: String] = [:]
  }

  /// The schema that Core Data (framework version 851 and later) would make for the model.
  ///
  /// Derived attributes get an ordinary column; `triggers` has the triggers that maintain them. A composite
  /// attribute gets a column for each of its leaves. Attributes without a storage type (undefined, object ID) get none.
  package init(model: ManagedObjectModel) { self.init(model: model, names: JoinNames()) }

  /// - Parameter names: Names known from a store; the rules decide the others.
  package init(model: ManagedObjectModel, names: JoinNames) {
    self = SchemaCache.schema(model, .new(names)) {
      var schema = Self(model: model, numbers: Self.standardNumbers(of: model), names: names)
      schema.joinGuesses = Derived(schema.nameGuesses(names))
      schema.orderDoubts = Derived(
        schema.unnamedOrders.filter { !names.orders.contains($0) }.map(\.description).sorted { Text($0) < Text($1) })
      return schema
    }
  }

  /// - Parameter numbers: The entity numbers, when they are not those of a new store.
  package init(model: ManagedObjectModel, numbers: [String: Int], names: JoinNames = JoinNames()) {
    self.model = model
    entityNumbers = numbers
    tables = []
    joinTables = []
    indexes = []
    omittedIndexes = []
    tables = model.rootEntities.map { makeTable(root: $0.name) }
    rebuildLookUps()
    let joins = makeJoinTables(names)
    joinTables = joins.tables
    joinSuffixGroups = Derived(joins.suffixGroups)
    rebuildIndexes()
  }

  /// Call when tables, columns or entity numbers have changed.
  mutating func rebuildLookUps() {
    var found = LookUps()
    for (name, number) in entityNumbers { found.entityNames[number] = name }
    for table in tables + pairTables {
      found.tables[table.rootEntityName] = table
      for column in table.columns {
        guard case .attribute(let owner, let name, _) = column.role else { continue }
        let key = LookUps.AttributeKey(entityName: owner, attributeName: name)
        if found.attributeColumns[key] == nil { found.attributeColumns[key] = column }
      }
    }
    lookUps = Derived(found)
  }

  /// Whether an index of an existing store has the rows of a join table in the order of a column.
  package func walksJoin(_ table: String, from column: String) -> Bool {
    joinWalks.value[table]?.contains(column) == true
  }

  /// The entity with a `Z_ENT`; nil if the model lacks it.
  package func entityName(_ number: Int) -> String? { lookUps.value.entityNames[number] }

  /// The table that holds an entity's rows, its root's; nil when the model has no such entity.
  package func table(of entity: String) -> EntityTable? {
    model.lineage(of: entity).last.flatMap { lookUps.value.tables[$0.name] }
  }

  /// The column of an attribute with its declared type; nil when it is unknown or not stored.
  package func attributeColumn(_ attribute: String, in entity: String) -> Column? {
    for ancestor in model.lineage(of: entity) {
      if let found = lookUps.value.attributeColumns[.init(entityName: ancestor.name, attributeName: attribute)] {
        return found
      }
    }
    return nil
  }

  mutating func rebuildIndexes() {
    let list = makeIndexes()
    indexes = list.indexes
    omittedIndexes = list.omitted
  }

  /// Depth first through the inheritance forest, siblings in case-insensitive name order, from 1.
  static func standardNumbers(of model: ManagedObjectModel) -> [String: Int] {
    var numbers: [String: Int] = [:]
    for root in model.rootEntities {
      for entity in model.family(of: root.name) { numbers[entity.name] = numbers.count + 1 }
    }
    return numbers
  }
}
