extension StoreSchema {
  /// The same schema where tables and columns have other names.
  ///
  /// - Parameters:
  ///   - tables: New names of entity and join tables by their present names.
  ///   - columns: New names of columns by the present names of table and column.
  package func renaming(tables names: [String: String], columns: [String: [String: String]]) -> StoreSchema {
    var schema = self
    for position in tables.indices {
      let old = tables[position].name
      schema.tables[position].name = names[old] ?? old
      for (index, column) in tables[position].columns.enumerated() {
        schema.tables[position].columns[index].name = columns[old]?[column.name] ?? column.name
      }
    }
    schema.rebuildLookUps()
    schema.joinTables = joinTables.map { old in
      var join = old
      let new = columns[old.name] ?? [:]
      join.name = names[old.name] ?? old.name
      join.ownerColumn = new[old.ownerColumn] ?? old.ownerColumn
      join.destinationColumn = new[old.destinationColumn] ?? old.destinationColumn
      join.ownerOrderColumn = old.ownerOrderColumn.map { new[$0] ?? $0 }
      join.destinationOrderColumn = old.destinationOrderColumn.map { new[$0] ?? $0 }
      return join
    }
    return schema
  }
}
