import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct `Corpus schemas` {
  /// Stores whose model source is not in the corpus, by file name.
  static let withoutModel: Set<String> = [
    // Their model was built in code.
    "SampleModel2_V1.sqlite", "SampleModel2_V2.sqlite",
    // Merged from several models.
    "Database.sqlite",
    // Apple's own and an application's, models never published.
    "Accounts3.sqlite", "DataUsage.sqlite", "IMODb2.sqlite", "kik.sqlite", "NotesV7.storedata",
  ]

  /// Indexes in a file that its model does not ask for. A migration in place left them, or a model whose index was
  /// removed without a new version: the version hash does not cover indexes.
  static let surplusIndexes: [String: Set<String>] = [
    "Bookmarks_V2.sqlite": ["Z_BookmarkEntity_uuid", "Z_BookmarkEntity_url"],
    "Bookmarks_V4.sqlite": ["Z_BookmarkEntity_isPendingDeletion"],
  ]

  /// Stores whose tables stand in another order. Order has no meaning for Core Data.
  static let otherTableOrder: Set<String> = [
    // Rewritten in place.
    "SampleModel_V2.sqlite",
    // Two join tables of one entity in another order than in a store of 2.0, whose entity has the same properties.
    "oss_stubbed_data.sqlite",
    // Those of one entity of five.
    "SampleStore2.1.sqlite",
  ]

  /// The parts of a store's layout that its model does not give, store by store, with the reason.
  static let exceptions: [String: (reason: String, differences: Set<String>)] = [
    "Bookmarks_V2.sqlite": (
      "indexes that the model lost without a new version: they are no part of the version hash",
      [
        "CREATE INDEX Z_BookmarkEntity_uuid ON ZBOOKMARKENTITY (ZUUID COLLATE BINARY ASC)",
        "CREATE INDEX Z_BookmarkEntity_url ON ZBOOKMARKENTITY (ZURL COLLATE BINARY ASC)",
      ]
    ),
    "Bookmarks_V4.sqlite": (
      "as before",
      ["CREATE INDEX Z_BookmarkEntity_isPendingDeletion ON ZBOOKMARKENTITY (ZISPENDINGDELETION COLLATE BINARY ASC)"]
    ),
    "knowledgec-10.13.db": (
      "a constraint that the model in the store has and the store never got",
      [
        "no CREATE UNIQUE INDEX Z_StructuredMetadata_UNIQUE_metadataHash ON ZSTRUCTUREDMETADATA (ZMETADATAHASH COLLATE BINARY ASC)"
      ]
    ),
  ]

  /// Stores that carry no model and have none in the corpus, one without metadata; and Photos libraries, whose models
  /// have index elements that cannot be read.
  static let withoutAnyModel: Set<String> = ["kik.sqlite", "NotesV7.storedata"]

  private func file(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

  private func texts(_ connection: StoreConnection, _ sql: String) throws -> [String] {
    try connection.rows(sql).compactMap { row in
      if case .text(let bytes)? = row.first { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
  }

  @Test func `every corpus store with a published model is paired with it`() {
    let paired = Set(CorpusPair.all.map { file($0.path) })
    let all = Set(CorpusStores.paths.map(file))
    #expect(all.subtracting(paired) == Self.withoutModel)
    #expect(CorpusPair.all.count >= 17)
  }

  @Test func `predicted tables equal those of corpus stores, column by column`() throws {
    for pair in CorpusPair.all {
      let connection = try StoreConnection.openStore(readingAt: pair.path)
      let actual = try texts(
        connection,
        """
        SELECT sql FROM source.sqlite_master WHERE type = 'table' AND name GLOB 'Z*' AND name <> 'Z_MODELCACHE' \
        ORDER BY rowid
        """
      ).map { statement in
        // Before version 851 uniqueness was a constraint of the table; later it is an index.
        statement.replacing(#/, CONSTRAINT \w+ UNIQUE \([^)]*\)\)$/#, with: " )")
      }
      let predicted = StoreSchema(model: pair.model).createStatements
      #expect(Set(actual) == Set(predicted), "\(pair.name)")
      #expect((actual == predicted) != Self.otherTableOrder.contains(file(pair.path)), "\(pair.name)")
    }
  }

  @Test func `predicted indexes equal those of corpus stores, statement by statement`() throws {
    var compared = 0
    for pair in CorpusPair.all {
      let connection = try StoreConnection.openStore(readingAt: pair.path)
      let version = try StoreMetadata(reading: connection, path: pair.path).frameworkVersion ?? 0
      guard version >= 851 else { continue }
      compared += 1
      let actual = try texts(
        connection,
        "SELECT sql FROM source.sqlite_master WHERE type = 'index' AND tbl_name GLOB 'Z*' AND sql NOT NULL ORDER BY rowid"
      )
      let schema = StoreSchema(model: pair.model)
      let surplus = Self.surplusIndexes[file(pair.path)] ?? []
      let wanted = actual.filter { statement in !surplus.contains { statement.contains("INDEX \($0) ON") } }
      #expect(actual.count == wanted.count + surplus.count, "\(pair.name)")
      let isOther = Self.otherTableOrder.contains(file(pair.path))
      #expect(
        isOther ? wanted.sorted() == schema.indexStatements.sorted() : wanted == schema.indexStatements, "\(pair.name)")
      #expect(schema.omittedIndexes.isEmpty)
    }
    #expect(compared >= 6)
  }

  @Test func `tables, columns, join tables and indexes of every corpus store with a model are predicted`() throws {
    let known = Set(CorpusPair.withModel.map { file($0.path) })
    #expect(Set(CorpusStores.allPaths.map(file)).subtracting(known) == Self.withoutAnyModel)
    for pair in CorpusPair.withModel {
      let found = Set(try differences(pair))
      #expect(found == Self.exceptions[file(pair.path)]?.differences ?? [], "\(pair.name)")
    }
    #expect(Set(Self.exceptions.keys).isSubset(of: known))
  }

  /// The differences of a store from the prediction of its model.
  private func differences(_ pair: CorpusPair) throws -> [String] {
    let connection = try StoreConnection.openStore(readingAt: pair.path)
    let version = try StoreMetadata(reading: connection, path: pair.path).frameworkVersion ?? 0
    let schema = StoreSchema(model: pair.model)
    var differences: [String] = []
    func columns(_ table: String) throws -> Set<String> {
      Set(
        try texts(
          connection, "SELECT upper(type) || ' ' || name FROM pragma_table_info('\(table)', 'source') ORDER BY cid"))
    }
    var predicted: [String: Set<String>] = [:]
    for table in schema.tables { predicted[table.name] = Set(table.columns.map { "\($0.declaredType) \($0.name)" }) }
    for join in schema.joinTables {
      predicted[join.name] = Set(
        [join.ownerColumn, join.destinationColumn, join.ownerOrderColumn, join.destinationOrderColumn].compactMap {
          $0.map { "INTEGER \($0)" }
        })
    }
    let fixed: Set<String> = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]
    let present = Set(
      try texts(connection, "SELECT name FROM source.sqlite_master WHERE type = 'table' AND name GLOB 'Z*'")
    ).subtracting(fixed)
    differences += Set(predicted.keys).subtracting(present).map { "no table \($0)" }
    // The R-tree of an index is not made, and the plan says so.
    let surplus = present.subtracting(predicted.keys).filter { !$0.hasPrefix("Z_RT_") }
    differences += surplus.map { "table \($0)" }
    for (table, wanted) in predicted where present.contains(table) {
      let found = try columns(table)
      differences +=
        wanted.subtracting(found).map { "no \(table).\($0)" } + found.subtracting(wanted).map { "\(table).\($0)" }
    }
    // Before version 851 indexes had other names; on which columns they are is compared.
    func index(_ name: String, _ table: String, _ sql: String) throws -> String {
      // Framework 973 wrote the condition of one index after two spaces.
      guard version < 851 else { return sql.replacing("\"", with: "").replacing("WHERE  ", with: "WHERE ") }
      let isUnique = sql.hasPrefix("CREATE UNIQUE")
      let list = sql.split(separator: "(")[1].dropLast().split(separator: ", ").map { $0.prefix { $0 != " " } }
      return "\(isUnique ? "unique " : "")index on \(table) (\(list.joined(separator: ", ")))"
    }
    var wanted: Set<String> = []
    for made in schema.indexes {
      // Earlier versions lack some indexes, and made constraints of the table from others.
      if version < 640, schema.joinTables.contains(where: { $0.name == made.table }) { continue }
      if version < 851, made.isUnique { continue }
      wanted.insert(try index(made.name, made.table, made.sql))
    }
    var found: Set<String> = []
    for row in try connection.rows(
      "SELECT name, tbl_name, sql FROM source.sqlite_master WHERE type = 'index' AND tbl_name GLOB 'Z*' AND sql NOT NULL"
    ) {
      let row = row.map { value in
        if case .text(let bytes) = value { String(decoding: bytes, as: UTF8.self) } else { "" }
      }
      found.insert(try index(row[0], row[1], row[2]))
    }
    differences += wanted.subtracting(found).map { "no \($0)" } + found.subtracting(wanted)
    return differences
  }

  @Test func `probing a corpus store finds what was predicted`() throws {
    for pair in CorpusPair.all {
      let connection = try StoreConnection.openStore(readingAt: pair.path)
      let probed = try StoreSchema(model: pair.model, probing: connection)
      let known = StoreSchema(model: pair.model, names: JoinNames(of: probed))
      #expect(probed.tables == known.tables, "\(pair.name)")
      #expect(Set(probed.joinTables) == Set(known.joinTables), "\(pair.name)")
      #expect(probed == StoreSchema(model: pair.model), "\(pair.name)")
    }
  }

  @Test func `a store probed with another version of its model is refused by name`() throws {
    let store = try #require(CorpusPair.all.first { file($0.path) == "Model1.sqlite" })
    let connection = try StoreConnection.openStore(readingAt: store.path)
    var entities = store.model.entities
    entities[0].attributes.append(AttributeDescription(name: "unheardOf", type: .string))
    let model = try ManagedObjectModel(name: "Other", entities: entities)
    let table = "Z" + entities[0].name.uppercased()
    #expect {
      try StoreSchema(model: model, probing: connection)
    } throws: { error in
      (error as? GodwitError)?.message
        == "cannot read '\(store.path)' with this model: column 'ZUNHEARDOF' of table '\(table)' is missing, which holds '\(entities[0].name).unheardOf'"
    }
  }

  @Test func `every attribute value of every corpus store survives a round trip`() throws {
    var values = 0
    for pair in CorpusPair.all {
      let connection = try StoreConnection.openStore(readingAt: pair.path)
      let schema = try StoreSchema(model: pair.model, probing: connection)
      for entity in pair.model.entities {
        guard let table = schema.table(of: entity.name)?.name, let number = schema.number(of: entity.name) else {
          continue
        }
        for attribute in pair.model.attributes(of: entity.name) {
          guard let column = schema.column(of: attribute.name, in: entity.name) else { continue }
          try connection.execute("DROP TABLE IF EXISTS temp.T")
          let type = try #require(schema.attributeColumn(attribute.name, in: entity.name)?.declaredType)
          try connection.execute("CREATE TEMP TABLE T (A \(type))")
          try connection.query(
            "SELECT \(column) FROM source.\(table) WHERE Z_ENT = ?1 LIMIT 200", [.int(number)]
          ) { row in
            let stored = row.value(0)
            let value = try AttributeValue(decoding: stored, as: attribute)
            let encoded = try SQLValue(encoding: value, as: attribute)
            // Through a column of the same affinity, as the store's would be.
            try connection.execute("INSERT INTO T VALUES (?1)", [encoded])
            #expect(try connection.value("SELECT A FROM T ORDER BY rowid DESC LIMIT 1") == stored)
            values += value.isNull ? 0 : 1
            return true
          }
        }
      }
    }
    #expect(values > 3000)
  }

  @Test func `a summary counts the rows of every corpus store`() throws {
    for path in CorpusStores.paths where file(path) != "NotesV7.storedata" {
      let summary = try StoreSummary(readingStoreAt: path)
      let connection = try StoreConnection.openStore(readingAt: path)
      var expected: Int64 = 0
      for name in try texts(
        connection,
        "SELECT name FROM source.sqlite_master WHERE type = 'table' AND (name GLOB 'Z[A-Z]*' OR name GLOB 'A*')")
      {
        expected += try connection.integer("SELECT count(*) FROM source.\(StoreSchema.identifier(name))") ?? 0
      }
      let rows = summary.entities.compactMap(\.rows) + summary.strayRows.map(\.rows)
      #expect(rows.reduce(0, +) == expected, "\(path)")
      // One row was left behind by a renumbering migration.
      #expect(summary.strayRows.map(\.rows) == (file(path) == "ArtsyPartner_2.0.sqlite" ? [1] : []), "\(path)")
      #expect(summary.entities.allSatisfy { $0.name != nil && $0.rows != nil }, "\(path)")
      _ = try JSONEncoder().encode(summary)
    }
    let history = try StoreSummary(
      readingStoreAt: Corpus.path("alemar11_CoreDataPlus/Tests/Resources/SampleModel2/Fixtures/SampleModel2_V1.sqlite"))
    #expect(history.historyTables == ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"])
    #expect(history.triggers.count == 5)
    #expect(history.hasModelCache)
  }

  @Test func `predicted triggers of derived attributes equal those of corpus stores, word for word`() throws {
    for version in ["V1", "V2"] {
      let path = Corpus.path(
        "alemar11_CoreDataPlus/Tests/Resources/SampleModel2/Fixtures/SampleModel2_\(version).sqlite")
      let content = try #require(try StoreModelCache.content(ofStoreAt: path))
      let schema = StoreSchema(model: try CachedModel(modelCache: content, name: version).model)
      let actual = try texts(
        try StoreConnection.openStore(readingAt: path),
        "SELECT sql FROM source.sqlite_master WHERE type = 'trigger' ORDER BY rowid")
      #expect(actual.count == 5)
      #expect(schema.triggerStatements == actual)
    }
  }

  @Test func `a store copied through the builder's schema can take every row`() throws {
    for pair in CorpusPair.all {
      let folder = try TemporaryFolder()
      let source = try StoreMetadata(readingStoreAt: pair.path)
      let schema = StoreSchema(model: pair.model)
      let connection = try EmptyStore.create(at: folder.file("new.sqlite"), schema: schema, metadata: source)
      try connection.attachSource(StoreFiles(path: pair.path))
      let actual = try StoreSchema(model: pair.model, probing: connection)
      for (new, old) in zip(schema.tables, actual.tables) {
        let columns = new.columns.map { StoreSchema.identifier($0.name) }.joined(separator: ", ")
        try connection.execute("INSERT INTO main.\(new.name) (\(columns)) SELECT \(columns) FROM source.\(old.name)")
      }
      try EmptyStore.createIndexes(of: schema, on: connection)
      try EmptyStore.updatePrimaryKeyCounters(of: schema, on: connection)
      try connection.close()
      #expect(try StoreMetadata(readingStoreAt: folder.file("new.sqlite")) == source)
    }
  }
}
