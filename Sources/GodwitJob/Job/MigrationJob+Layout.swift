public import Foundation
public import GodwitModel
package import GodwitStore

/// A store whose layout shows the names that Core Data chose where the model leaves them open.
public struct LayoutStore: Sendable {
  package let path: String
  /// Where the store is.
  public var url: URL { URL(filePath: path) }
  /// The version that the store was made with.
  public let model: ManagedObjectModel
  let names: JoinNames

  /// Reads the names; writes nothing.
  ///
  /// - Parameters:
  ///   - url: Where the store is.
  ///   - model: The version that the store was made with.
  /// - Throws: `.missingInput` (66) when there is no store; `.dataWrong` (65) when it is damaged, or lacks a table or
  ///   column of the model; `.permission` (77) when it cannot be read.
  public init(url: URL, model: ManagedObjectModel) throws { try self.init(path: url.filePath, model: model) }

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

  /// The known names of the destination's join tables.
  ///
  /// A store of the destination version says all of them. Else the source's names stay where all that Core Data looks
  /// at is the same in both versions. The stores between two steps are named by the rules: nobody gets to see them.
  ///
  /// - Parameter sourceSchema: What the source has, when it is known already.
  func joinNames(sourceSchema: StoreSchema? = nil) throws -> JoinNames {
    guard position.isLast, hasJoinNames else { return JoinNames() }
    if let layoutStore { return layoutStore.names }
    if let firstSource { return firstSource.names.kept(from: firstSource.model, to: destinationModel) }
    // What a store of another type becomes has the names that the rules make.
    guard try StoreFiles(path: sourcePath).type == .sqlite else { return JoinNames() }
    let schema =
      if let sourceSchema { sourceSchema } else {
        try StoreSchema(
          model: sourceModel, probing: try .openStore(readingAt: sourcePath, model: sourceModel))
      }
    return JoinNames(of: schema).kept(from: sourceModel, to: destinationModel)
  }

  /// The layout of the store that the job makes.
  package func destinationSchema(from sourceSchema: StoreSchema? = nil) throws -> StoreSchema {
    StoreSchema(model: destinationModel, names: try joinNames(sourceSchema: sourceSchema))
  }

  /// What the first step of several reads, for the last one; nil where it tells nothing.
  var namesOfSource: LayoutStore? {
    guard layoutStore == nil, hasJoinNames, (try? StoreFiles(path: sourcePath).type) == .sqlite else { return nil }
    return try? LayoutStore(path: sourcePath, model: sourceModel)
  }

  /// What plan and summary say of names that Core Data may choose otherwise.
  package func layoutNotes() throws -> [MigrationNote] {
    guard destinationType == .sqlite, !appends || !FileManager.default.fileExists(atPath: destinationPath) else {
      return []
    }
    // Names that a store tells leave fewer guesses, not more.
    guard !StoreSchema(model: destinationModel).guesses.isEmpty else { return [] }
    let remedy = "a store of version '\(destinationModel.name)' that Core Data wrote settles it (layout-from)"
    return try destinationSchema().guesses.map { MigrationNote(.guessedName, "\($0); \(remedy)") }
  }

  /// What of the layout decides content, for the digest of the job.
  var layoutText: String {
    guard let layoutStore, hasJoinNames else { return "" }
    return "\nlayout " + layoutStore.names.text
  }
}
