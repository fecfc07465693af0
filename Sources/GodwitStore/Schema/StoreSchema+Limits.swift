import GodwitModel

extension StoreSchema {
  /// The most columns that a table of SQLite has, as SQLite is built everywhere.
  package static let columnsMaximum = 2000

  /// - Throws: `.dataWrong` (65) naming the entity whose table would have more columns than SQLite allows.
  package func checkColumns() throws {
    for table in tables where table.columns.count > Self.columnsMaximum {
      throw GodwitError(
        .dataWrong,
        "cannot make a table for entity '\(table.rootEntityName)' of model '\(model.name)' and its subentities: expected at most \(Self.columnsMaximum) columns, found \(table.columns.count)",
        remedy: "move attributes to another entity; SQLite allows no more columns")
    }
  }
}
