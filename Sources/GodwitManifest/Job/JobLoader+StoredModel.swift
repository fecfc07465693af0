import GodwitJob
import GodwitModel

/// A source model that nobody listed: the one that the store, or its receipt, carries. Its place among the versions is not known, so a
/// step that is inferred from it may skip what an author wrote, and a store of another application has one too.
extension JobLoader {
  /// Where a source model comes from that the store carries.
  static let ownCacheOrigin = "from the store's own cache"

  /// Refuses a way from the store's own model that would make the wrong store.
  ///
  /// A mapping model that leads from this very model to the destination, and one that the manifest lists, show that the
  /// model is meant.
  ///
  /// - Parameter isInside: Whether the store carries the model, not its receipt.
  /// - Throws: 69 at the key `models` when the model hardly resembles the destination, and when mapping models lead to
  ///   the destination or to a version before it, which the inferred step may skip.
  func refuseDoubtfulModel(
    _ source: ManagedObjectModel, isInside: Bool, leadingTo destination: ManagedObjectModel, by steps: [MigrationStep],
    among versions: ModelVersions
  ) throws {
    if case .files = manifest.mappings { return }
    guard steps.contains(where: \.isInferred) else { return }
    let (inside, ofStore) = isInside ? ("inside it", "inside the store") : ("in its receipt", "in its receipt")
    let found = InferredLoss.resemblance(of: source, to: destination)
    guard found.carried >= found.whole - found.carried else {
      throw doubtful(
        "the model \(inside) hardly resembles '\(destination.name)'",
        cause:
          "'\(destination.name)' takes \(found.carried) of the \(found.whole) properties that '\(source.name)', the model \(ofStore), could give it",
        remedy: "check that the store is of this application. If it is, \(Self.listing(destination))")
    }
    guard case .auto = manifest.mappings else { return }
    let skipped = try mappingModels(from: source, leadingUpTo: destination, among: versions)
    guard !skipped.isEmpty else { return }
    let named = skipped.prefix(Self.listedAtMost).map { "'\($0)'" }.joined(separator: ", ")
    let more = skipped.count > Self.listedAtMost ? " and \(skipped.count - Self.listedAtMost) more" : ""
    throw doubtful(
      "an inferred step from the model \(inside) to '\(destination.name)' may skip mapping models",
      cause:
        "the model \(ofStore), '\(source.name)', is none of the versions, so its place among them is not known\nmapping models that may be skipped: \(named)\(more)",
      remedy: Self.listing(destination))
  }

  /// How many mapping models a message names.
  private static let listedAtMost = 5

  private func doubtful(_ what: String, cause: String, remedy: String) -> GodwitError {
    // Without the path of the store: it is the same for all stores of the version.
    GodwitError(
      .noPath, "no listed model fits the store, and \(what)", location: manifest.locations["models"], cause: cause,
      remedy: remedy, safe: "nothing was written"
    ).about(.storedModel)
  }

  private static func listing(_ destination: ManagedObjectModel) -> String {
    let name = MigrationPathFinder.yaml(destination.name)
    return
      "restore the version of the store in the bundle; or write the model inside the store to a file, `godwit model extract STORE -o NAME.xcdatamodel`, add the file to `models`, and write `destination-model: \(name)`, and `version-order` unless NAME sorts into its place"
  }

  /// The mapping models that lead to a version up to the destination, by what messages call them.
  private func mappingModels(
    from source: ManagedObjectModel, leadingUpTo destination: ManagedObjectModel, among versions: ModelVersions
  ) throws -> [String] {
    var names = try orderedNames(versions, leadingTo: destination.name)
    if let last = names.lastIndex(of: destination.name) { names = Array(names[...last]) }
    return try finder.mappingModels(from: source, to: versions.readable(named: names))
  }
}
