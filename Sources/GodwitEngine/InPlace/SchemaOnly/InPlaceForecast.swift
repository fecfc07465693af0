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
  ) -> RowReason? {
    guard let resolved = try? ResolvedMapping([mapping], from: source, to: destination) else { return nil }
    let comparison = SchemaOnlyComparison(
      resolved: resolved, source: StoreSchema(model: source), destination: StoreSchema(model: destination))
    do throws(SchemaOnlyComparison.Obstacle) {
      try comparison.check()
      return nil
    } catch { return RowReason(text: error.reason, isRule: error.isRule) }
  }

  /// Why rows are read.
  package struct RowReason {
    package let text: String
    /// Whether they may break a rule of the new version.
    package let isRule: Bool
  }
}
