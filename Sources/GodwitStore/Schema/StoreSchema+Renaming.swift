extension StoreSchema {
  /// The same schema where tables and columns have other names.
  ///
  /// - Parameters:
  ///   - tables: New names of entity and join tables by their present names.
  ///   - columns: New names of columns by the present names of table and column.
  package func renaming(tables names: [String: String], columns: [String: [String: String]]) -> StoreSchema {
    var schema = self
    for position in schema.tables.indices {
      let old = schema.tables[position].name
      schema.tables[position].name = names[old] ?? old
      for column in schema.tables[position].columns.indices {
        let name = schema.tables[position].columns[column].name
        schema.tables[position].columns[column].name = columns[old]?[name] ?? name
      }
    }
    schema.rebuildLookUps()
    for position in schema.joinTables.indices {
      let old = schema.joinTables[position].name
      let new = columns[old] ?? [:]
      schema.joinTables[position].name = names[old] ?? old
      schema.joinTables[position].ownerColumn =
        new[joinTables[position].ownerColumn] ?? joinTables[position].ownerColumn
      schema.joinTables[position].destinationColumn =
        new[joinTables[position].destinationColumn] ?? joinTables[position].destinationColumn
      schema.joinTables[position].ownerOrderColumn = joinTables[position].ownerOrderColumn.map { new[$0] ?? $0 }
      schema.joinTables[position].destinationOrderColumn =
        joinTables[position].destinationOrderColumn.map { new[$0] ?? $0 }
    }
    return schema
  }
}
