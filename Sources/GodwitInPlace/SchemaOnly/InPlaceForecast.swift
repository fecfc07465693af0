import GodwitEngine
package import GodwitModel
import GodwitStore

/// A forecast of a migration in place from two models, without a store.
package enum InPlaceForecast {
  /// Why an inferred step reads or writes every row; nil when a change of definitions will do.
  ///
  /// A store may still need its rows read, where its file differs from a new one.
  ///
  /// - Parameter mapping: The inferred mapping between the models.
  package static func rowReason(
    for mapping: MappingModel, from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> String? {
    guard let resolved = try? ResolvedMapping([mapping], from: source, to: destination) else { return nil }
    let comparison = SchemaOnlyComparison(
      resolved: resolved, source: StoreSchema(model: source), destination: StoreSchema(model: destination))
    do throws(SchemaOnlyComparison.Obstacle) {
      try comparison.check()
      return nil
    } catch { return error.reason }
  }
}
