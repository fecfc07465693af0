import Foundation
package import GodwitModel
package import GodwitStore

/// A store whose layout shows the names that Core Data chose where the model leaves them open.
package struct LayoutStore: Sendable {
  package let path: String
  /// The version that the store was made with.
  package let model: ManagedObjectModel
  let names: JoinNames

  /// Reads the names; writes nothing.
  ///
  /// - Parameters:
  ///   - path: Where the store is.
  ///   - model: The version that the store was made with.
  /// - Throws: `.missingInput` (66) when the store is missing; `.dataWrong` (65) when it is damaged, or lacks a table
  ///   or column of the model; `.permission` (77) when it cannot be read.
  package init(path: String, model: ManagedObjectModel) throws {
    let connection = try StoreConnection.openStore(readingAt: path, model: model)
    defer { try? connection.close() }
    self.init(path: path, model: model, names: JoinNames(of: try StoreSchema(model: model, probing: connection)))
  }

  init(path: String, model: ManagedObjectModel, names: JoinNames) {
    (self.path, self.model, self.names) = (path, model, names)
  }
}

extension MigrationJob {
  /// Whether a store can tell names of the destination.
  private var hasJoinNames: Bool {
    let layout = StoreSchema(model: destinationModel)
    return !layout.joinTables.isEmpty || !layout.unknownOrders.isEmpty
  }

  /// The layout of the store that the job makes.
  ///
  /// A store of the destination version names all of its join tables. Otherwise a name of the source remains if
  /// everything that Core Data reads for it is the same in both versions. Stores between two steps are temporary, and get
  /// names by the rules.
  ///
  /// - Parameter sourceSchema: The schema of the source, if it is known already.
  package func destinationSchema(from sourceSchema: StoreSchema? = nil) throws -> StoreSchema {
    let byRules = StoreSchema(model: destinationModel)
    guard position.isLast, hasJoinNames else { return byRules }
    let found = try foundNames(sourceSchema: sourceSchema)
    let names = layoutNames.isEmpty ? found : found.replaced(by: layoutNames, in: byRules)
    return StoreSchema(model: destinationModel, names: names)
  }

  /// The store whose names the source has: a merged one takes those of its first part.
  private var namedPath: String { sourcePaths[0] }

  /// Those that a store tells.
  private func foundNames(sourceSchema: StoreSchema?) throws -> JoinNames {
    if let layoutStore { return layoutStore.names }
    if let firstSource { return firstSource.names.kept(from: firstSource.model, to: destinationModel) }
    // A store of another type tells no names, so the rules make them.
    guard try StoreFiles(path: namedPath).type == .sqlite else { return JoinNames() }
    let schema =
      if let sourceSchema { sourceSchema } else {
        try StoreSchema(model: sourceModel, probing: try .openStore(readingAt: namedPath, model: sourceModel))
      }
    return JoinNames(of: schema).kept(from: sourceModel, to: destinationModel)
  }

  /// The names of the source, which the first of several steps reads, for the last one; nil without any.
  ///
  /// - Throws: When the source could not be read: other names would be chosen.
  func namesOfSource() throws -> LayoutStore? {
    guard layoutStore == nil, hasJoinNames else { return nil }
    return try Definite.answer {
      try StoreFiles(path: namedPath).type == .sqlite ? LayoutStore(path: namedPath, model: sourceModel) : nil
    } ?? nil
  }

  /// Whether the job makes tables: a store that it appends to has its own.
  private var makesLayout: Bool {
    get throws {
      guard destinationType == .sqlite, appends else { return destinationType == .sqlite }
      return try Definite.answer { try StoreFiles(path: destinationPath) } == nil
    }
  }

  /// Refuses names that Core Data may choose otherwise, for a job that wants none.
  ///
  /// - Throws: `.configuration` (78).
  package func refuseGuessedNames() throws {
    guard refusesGuessedNames, try makesLayout, let guess = try destinationSchema().guesses.first else { return }
    throw GodwitError(
      .configuration, "cannot make a store without a guessed name, which 'strict' asks for: \(guess)",
      location: layoutLocation,
      remedy:
        "name a store of version '\(destinationModel.name)' that Core Data wrote with `from`, give the name under `names`, or remove `strict`"
    )
  }

  /// Notes in plan and summary on names that Core Data may choose otherwise.
  package func layoutNotes() throws -> [MigrationNote] {
    guard try makesLayout else { return [] }
    let rules = StoreSchema(model: destinationModel)
    // Names that a store tells leave fewer guesses, not more.
    guard !rules.guesses.isEmpty else { return rules.indexNotes }
    let remedy =
      "a store of version '\(destinationModel.name)' that Core Data wrote shows the name (`layout: {from: STORE}`); `names` gives it"
    return try destinationSchema().guesses.map { MigrationNote(.guessedName, "\($0); \(remedy)") } + rules.indexNotes
  }

  /// The part of the layout that decides content, for the digest of the job.
  var layoutText: String {
    guard hasJoinNames else { return "" }
    let given = layoutNames.isEmpty ? "" : "\nnames " + layoutNames.text
    return (layoutStore.map { "\nlayout " + $0.names.text } ?? "") + given
  }
}

extension StoreSchema {
  /// Notes of plan and summary on indexes that are not made.
  fileprivate var indexNotes: [MigrationNote] {
    guard let first = omittedIndexes.first else { return [] }
    let more = omittedIndexes.count - 1
    let rest = more > 0 ? "; \(more) more like it (see `godwit model schema`)" : ""
    return [MigrationNote(.indexesLeftOut, "not made: \(first)\(rest)")]
  }
}
